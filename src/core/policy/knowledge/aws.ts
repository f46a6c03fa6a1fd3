import { final, type KnownCall, reads, undoable } from "./service.ts";

/** Where the facts about actions come from. */
export const awsDocumentation =
  "https://docs.aws.amazon.com/service-authorization/latest/reference/";

/**
 * What AWS actions do, as `service:Action`; the first that matches wins. A signed call that names no action is judged by
 * its HTTP method (S3), and an unknown action cannot be undone.
 */
export const awsActions: readonly KnownCall[] = [
  final("*", "secretsmanager:GetSecretValue", "reads the value of a secret", {
    floor: "credential",
  }),
  final("*", "secretsmanager:BatchGetSecretValue", "reads values of secrets", {
    floor: "credential",
  }),
  final("*", "ssm:GetParameter*", "reads parameters that may be secrets", { floor: "credential" }),
  reads("*", "sts:GetCallerIdentity", "tells who the key belongs to"),
  final("*", "sts:*", "gets other credentials", { floor: "credential" }),
  final("*", "ecr:GetAuthorizationToken", "gets a token for the registry", { floor: "credential" }),
  final("*", "kms:Decrypt", "decrypts", { floor: "credential" }),
  undoable(
    "*",
    "kms:ScheduleKeyDeletion",
    "schedules a key for deletion",
    "CancelKeyDeletion within 7 to 30 days",
    { floor: "delete" },
  ),
  undoable(
    "*",
    "secretsmanager:DeleteSecret",
    "deletes a secret",
    "RestoreSecret within 7 to 30 days, unless it was forced",
    { floor: "delete", unless: ["ForceDeleteWithoutRecovery"] },
  ),
  undoable("*", "ec2:StopInstances", "stops servers", "StartInstances", {
    count: { at: "InstanceId", unit: "records" },
  }),
  undoable("*", "ec2:StartInstances", "starts servers", "StopInstances", {
    count: { at: "InstanceId", unit: "records" },
  }),
  undoable("*", "ec2:RebootInstances", "restarts servers", "nothing is lost but the running time"),
  final("*", "ec2:TerminateInstances", "terminates servers for good", {
    floor: "delete",
    count: { at: "InstanceId", unit: "records" },
  }),
  final("*", "ec2:RunInstances", "starts servers that cost money", { floor: "payment" }),
  final("*", "ec2:*ReservedInstances*", "buys capacity", { floor: "payment" }),
  undoable("*", "rds:StopDBInstance", "stops a database", "StartDBInstance"),
  undoable("*", "rds:StartDBInstance", "starts a database", "StopDBInstance"),
  undoable(
    "*",
    "rds:DeleteDBInstance",
    "deletes a database",
    "restore its final snapshot, unless it was skipped",
    { floor: "delete", unless: ["SkipFinalSnapshot"] },
  ),
  undoable("*", "dynamodb:DeleteTable", "deletes a table", "restore a backup, where one is kept", {
    floor: "delete",
  }),
  undoable(
    "*",
    "dynamodb:PutItem",
    "writes an item",
    "point-in-time recovery within 35 days, where it is on",
  ),
  undoable(
    "*",
    "dynamodb:UpdateItem",
    "changes an item",
    "point-in-time recovery within 35 days, where it is on",
  ),
  undoable(
    "*",
    "dynamodb:DeleteItem",
    "deletes an item",
    "point-in-time recovery within 35 days, where it is on",
  ),
  undoable(
    "*",
    "dynamodb:BatchWriteItem",
    "writes items",
    "point-in-time recovery within 35 days, where it is on",
    { count: { at: "RequestItems.*", unit: "records" } },
  ),
  undoable("*", "lambda:UpdateFunctionCode", "deploys code", "deploy the code before"),
  final("*", "lambda:Invoke*", "runs a function"),
  undoable("*", "cloudformation:CreateStack", "creates a stack", "DeleteStack"),
  undoable("*", "cloudformation:CreateChangeSet", "plans a change", "DeleteChangeSet"),
  final("*", "ses:Send*", "sends mail"),
  final("*", "sns:Publish*", "sends a notification"),
  final("*", "sqs:SendMessage*", "sends a message to a queue"),
  final("*", "sqs:PurgeQueue", "deletes every message of a queue", { floor: "delete" }),
  final("*", "iam:Create*", "creates identities or keys", { floor: "credential" }),
  final("*", "iam:Put*", "changes rights", { floor: "credential" }),
  final("*", "iam:Attach*", "changes rights", { floor: "credential" }),
  final("*", "iam:Update*", "changes identities", { floor: "credential" }),
  final("*", "iam:Add*", "changes rights", { floor: "credential" }),
  final("*", "route53domains:RegisterDomain", "buys a domain", { floor: "payment" }),
  final("*", "s3:DeleteObject*", "deletes objects, for good unless the bucket keeps versions", {
    floor: "delete",
    count: { at: "Delete.Object", unit: "records" },
  }),
  final("*", "s3:DeleteBucket*", "deletes a bucket or its settings", { floor: "delete" }),
  final("*", "*:Delete*", "deletes a cloud resource", { floor: "delete" }),
  final("*", "*:Terminate*", "terminates a cloud resource", { floor: "delete" }),
  final("*", "*:Purchase*", "buys", { floor: "payment" }),
  reads("*", "*:Describe*", "reads"),
  reads("*", "*:List*", "lists"),
  reads("*", "*:Get*", "reads"),
  reads("*", "*:BatchGet*", "reads"),
  reads("*", "*:Head*", "reads"),
  reads("*", "*:Search*", "searches"),
  reads("*", "*:Lookup*", "reads"),
  reads("*", "dynamodb:Query", "queries a table"),
  reads("*", "dynamodb:Scan", "reads a table"),
  reads("*", "logs:StartQuery", "queries logs"),
  reads("*", "logs:FilterLogEvents", "reads logs"),
];
