/** Makes the sample project in `folder`, which must be empty or absent. Gives `folder` back. */
export function makeSample(folder: string): string;
