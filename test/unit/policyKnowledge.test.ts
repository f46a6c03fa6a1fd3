import assert from "node:assert/strict";
import { awsActions, awsDocumentation } from "../../src/core/policy/knowledge/aws.ts";
import { services } from "../../src/core/policy/knowledge/services.ts";
import { serviceOf } from "../../src/core/policy/classify.ts";
import { documentedCalls } from "./documentedCalls.ts";
import { documentedInfrastructure } from "./documentedInfrastructure.ts";
import { factsOf, judged } from "../support/judged.ts";

const documented = { ...documentedCalls, ...documentedInfrastructure };

describe("policy: what the documentation of known APIs says", () => {
  for (const [id, rows] of Object.entries(documented)) {
    for (const [line, expected, body] of rows) {
      it(`${id}: ${line.slice(0, 90)} → ${expected}`, () => {
        const facts = factsOf(line, body);
        assert.equal(serviceOf(facts.host)?.id, id);
        check(judged(facts), expected);
      });
    }
  }

  it("covers every service that is known", () => {
    assert.deepEqual(services.map((one) => one.id).sort(), Object.keys(documented).sort());
    assert.ok(services.length >= 20);
  });

  it("every service says where its facts come from, and every recoverable call the way back", () => {
    const calls = services.flatMap((one) => [
      ...one.calls,
      ...(one.mutations ?? []),
      ...(one.tools ?? []),
    ]);
    for (const call of [...calls, ...awsActions]) {
      assert.equal(call.class === "recoverable", call.wayBack !== undefined, call.pattern);
    }
    for (const address of [...services.map((one) => one.documentation), awsDocumentation]) {
      assert.match(address, /^https:\/\//);
    }
  });
});

describe("policy: AWS actions", () => {
  const aws: readonly (readonly [
    service: string,
    action: string,
    expected: string,
    body?: string,
  ])[] = [
    ["ec2", "DescribeInstances", "read"],
    ["ec2", "TerminateInstances", "final!"],
    ["ec2", "StopInstances", "StartInstances"],
    ["secretsmanager", "GetSecretValue", "final!"],
    ["secretsmanager", "DeleteSecret", "RestoreSecret within 7 to 30 days, unless it was forced"],
    ["secretsmanager", "DeleteSecret", "final!", "&ForceDeleteWithoutRecovery=true"],
    ["kms", "ScheduleKeyDeletion", "CancelKeyDeletion within 7 to 30 days"],
    ["iam", "CreateAccessKey", "final!"],
    ["sts", "AssumeRole", "final!"],
    ["sts", "GetCallerIdentity", "read"],
    ["ses", "SendEmail", "final"],
    ["dynamodb", "DeleteTable", "restore a backup, where one is kept"],
    ["dynamodb", "Query", "read"],
    ["sqs", "PurgeQueue", "final!"],
    ["madeup", "FrobnicateThing", "final"],
  ];
  for (const [service, action, expected, more] of aws) {
    it(`${service}:${action} → ${expected}`, () => {
      const scope = `AKID/20260101/us-east-1/${service}/aws4_request`;
      const authorization = `AWS4-HMAC-SHA256 Credential=${scope}, SignedHeaders=host, Signature=0`;
      const line = `POST https://${service}.us-east-1.amazonaws.com/`;
      const facts = factsOf(line, `Action=${action}${more ?? ""}`, {}, [
        ["authorization", authorization],
      ]);
      assert.equal(facts.kind, "aws");
      check(judged(facts), expected);
    });
  }
});

function check(judgement: ReturnType<typeof judged>, expected: string): void {
  if (expected === "read") {
    assert.equal(judgement.traffic, "disclosure");
    return;
  }
  assert.equal(judgement.traffic, "change");
  assert.equal(judgement.verdict, "hold");
  if (!expected.startsWith("final")) {
    assert.deepEqual([judgement.reversibility, judgement.wayBack], ["recoverable", expected]);
    return;
  }
  assert.equal(judgement.reversibility, "irreversible");
  if (expected === "final!") assert.match(judgement.rule, /^floor\./);
}
