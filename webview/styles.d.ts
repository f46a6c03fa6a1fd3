/** Style sheets are bundled with the script that imports them. */
declare module "*.css";
