/** One request, what is known of it, and its body. */
export type DocumentedCall = readonly [line: string, expected: string, body?: object | string];

/**
 * Requests as the public documentation of each API shows them (its address is in the service's `documentation`), and
 * what the built-in knowledge says of them: `read`, `final`, `final!` (with a floor) or the way back.
 */
export const documentedCalls: Readonly<Record<string, readonly DocumentedCall[]>> = {
  github: [
    ["GET https://api.github.com/repos/octocat/Hello-World/issues?state=open", "read"],
    [
      "POST https://api.github.com/repos/octocat/Hello-World/pulls",
      "close the pull request",
      { title: "New", head: "octocat:feature", base: "master" },
    ],
    [
      "PUT https://api.github.com/repos/octocat/Hello-World/pulls/42/merge",
      "final!",
      { commit_title: "Merge" },
    ],
    [
      "POST https://api.github.com/repos/octocat/Hello-World/issues",
      "close or delete the issue",
      { title: "Found a bug" },
    ],
    [
      "POST https://api.github.com/repos/octocat/Hello-World/issues/1/comments",
      "final",
      { body: "Me too" },
    ],
    ["DELETE https://api.github.com/repos/octocat/Hello-World", "final!"],
    ["DELETE https://api.github.com/repos/octocat/Hello-World/git/refs/heads/feature", "final!"],
    [
      "POST https://api.github.com/repos/octocat/Hello-World/releases",
      "final!",
      { tag_name: "v1.0.0" },
    ],
    ["POST https://api.github.com/graphql", "read", { query: "query { viewer { login } }" }],
    [
      "POST https://api.github.com/graphql",
      "close or delete the issue",
      {
        query: 'mutation { createIssue(input: {repositoryId: "R", title: "t"}) { issue { id } } }',
      },
    ],
    [
      "POST https://api.github.com/graphql",
      "final!",
      {
        query:
          "mutation M($id: ID!) { merge: mergePullRequest(input: {pullRequestId: $id}) { clientMutationId } }",
        variables: { id: "PR" },
      },
    ],
    [
      "POST https://api.githubcopilot.com/mcp/",
      "read",
      {
        jsonrpc: "2.0",
        id: 1,
        method: "tools/call",
        params: { name: "list_issues", arguments: { owner: "o", repo: "r" } },
      },
    ],
    [
      "POST https://api.githubcopilot.com/mcp/",
      "final!",
      {
        jsonrpc: "2.0",
        id: 1,
        method: "tools/call",
        params: { name: "merge_pull_request", arguments: {} },
      },
    ],
  ],
  gitlab: [
    [
      "POST https://gitlab.com/api/v4/projects/76/merge_requests",
      "close it",
      { source_branch: "test1", target_branch: "master" },
    ],
    ["PUT https://gitlab.com/api/v4/projects/76/merge_requests/1/merge", "final!"],
    [
      "POST https://gitlab.com/api/v4/projects/diaspora%2Fdiaspora/issues/11/notes",
      "final",
      { body: "note" },
    ],
    ["DELETE https://gitlab.com/api/v4/projects/5/repository/branches/newbranch", "final!"],
    ["DELETE https://gitlab.com/api/v4/projects/5", "restore it within 30 days"],
    ["DELETE https://gitlab.com/api/v4/projects/5?permanently_remove=true&full_path=a/b", "final!"],
  ],
  slack: [
    [
      "POST https://slack.com/api/chat.postMessage",
      "final",
      { channel: "C123456", text: "Hello world" },
    ],
    ["GET https://slack.com/api/chat.postMessage?channel=C123456&text=Hello", "final"],
    ["GET https://slack.com/api/conversations.history?channel=C123456", "read"],
    [
      "POST https://slack.com/api/conversations.archive",
      "conversations.unarchive",
      { channel: "C123456" },
    ],
    ["POST https://hooks.slack.com/services/T00/B00/XXX", "final", { text: "Hello" }],
  ],
  discord: [
    [
      "POST https://discord.com/api/v10/channels/41771983423143937/messages",
      "final",
      { content: "Hello" },
    ],
    [
      "POST https://discord.com/api/v10/channels/41771983423143937/messages/bulk-delete",
      "final!",
      { messages: ["1", "2"] },
    ],
    ["PUT https://discord.com/api/v10/channels/1/messages/2/reactions/x/@me", "change it back"],
  ],
  stripe: [
    ["GET https://api.stripe.com/v1/charges?limit=3", "read"],
    ["POST https://api.stripe.com/v1/payment_intents", "final!", "amount=2000&currency=usd"],
    ["POST https://api.stripe.com/v1/refunds", "final!", "charge=ch_1Nirr"],
    ["POST https://api.stripe.com/v1/customers", "delete the customer", "name=Jenny"],
    ["DELETE https://api.stripe.com/v1/subscriptions/sub_1Mlo", "final!"],
  ],
  paypal: [
    [
      "POST https://api-m.sandbox.paypal.com/v2/checkout/orders",
      "it expires unless it is approved",
      { intent: "CAPTURE" },
    ],
    ["POST https://api-m.paypal.com/v2/checkout/orders/5O19/capture", "final!", {}],
  ],
  linear: [
    ["POST https://api.linear.app/graphql", "read", { query: "{ issues { nodes { id title } } }" }],
    [
      "POST https://api.linear.app/graphql",
      "issueDelete",
      {
        query:
          'mutation IssueCreate { issueCreate(input: {title: "New", teamId: "9c"}) { success } }',
      },
    ],
    [
      "POST https://api.linear.app/graphql",
      "issueUnarchive within 30 days",
      { query: 'mutation { issueDelete(id: "BLA-1") { success } }' },
    ],
    [
      "POST https://api.linear.app/graphql",
      "final",
      { query: 'mutation { issueDelete(id: "BLA-1", permanentlyDelete: true) { success } }' },
    ],
    [
      "POST https://api.linear.app/graphql",
      "final",
      { query: 'mutation { commentCreate(input: {issueId: "B", body: "x"}) { success } }' },
    ],
  ],
  jira: [
    [
      "POST https://your-domain.atlassian.net/rest/api/3/search/jql",
      "read",
      { jql: "project = HSP" },
    ],
    ["POST https://your-domain.atlassian.net/rest/api/3/issue", "delete the issue", { fields: {} }],
    ["DELETE https://your-domain.atlassian.net/rest/api/3/issue/10000", "final!"],
    [
      "POST https://your-domain.atlassian.net/rest/api/2/issue/10000/comment",
      "final",
      { body: "x" },
    ],
    ["DELETE https://your-domain.atlassian.net/rest/api/3/project/EX", "restore it within 60 days"],
  ],
  notion: [
    ["POST https://api.notion.com/v1/databases/668d/query", "read", { filter: {} }],
    [
      "POST https://api.notion.com/v1/pages",
      "move it to the trash",
      { parent: {}, properties: {} },
    ],
    ["DELETE https://api.notion.com/v1/blocks/9bc3", "restore it within 30 days"],
    ["POST https://api.notion.com/v1/comments", "final", { parent: {}, rich_text: [] }],
  ],
  asana: [
    ["DELETE https://app.asana.com/api/1.0/tasks/321654", "restore it within 30 days"],
    ["POST https://app.asana.com/api/1.0/tasks/321654/stories", "final", { data: { text: "x" } }],
  ],
  trello: [
    ["PUT https://api.trello.com/1/cards/5abbe4b7?closed=true", "change it back: closed=false"],
    ["DELETE https://api.trello.com/1/cards/5abbe4b7", "final!"],
  ],
  hubspot: [
    ["POST https://api.hubapi.com/crm/v3/objects/contacts/search", "read", { filterGroups: [] }],
    [
      "POST https://api.hubapi.com/crm/v3/objects/contacts/batch/archive",
      "restore them from the recycling bin within 90 days",
      { inputs: [{ id: "1" }] },
    ],
    [
      "POST https://api.hubapi.com/crm/v3/objects/contacts/gdpr-delete",
      "final!",
      { objectId: "1" },
    ],
    [
      "PATCH https://api.hubapi.com/crm/v3/objects/deals/123",
      "set it back from the property history",
      { properties: {} },
    ],
  ],
  salesforce: [
    [
      "GET https://acme.my.salesforce.com/services/data/v62.0/query?q=SELECT+Id+FROM+Account",
      "read",
    ],
    [
      "DELETE https://acme.my.salesforce.com/services/data/v62.0/sobjects/Account/001D",
      "restore it from the recycle bin within 15 days",
    ],
    [
      "DELETE https://acme.my.salesforce.com/services/data/v62.0/composite/sobjects?ids=001A,001B",
      "restore them from the recycle bin within 15 days",
    ],
    [
      "POST https://acme.my.salesforce.com/services/data/v62.0/jobs/ingest",
      "final",
      { object: "Account", operation: "hardDelete" },
    ],
  ],
  intercom: [
    [
      "POST https://api.intercom.io/conversations/123/reply",
      "final",
      { message_type: "comment", body: "x" },
    ],
    ["POST https://api.intercom.io/contacts/63a0/archive", "unarchive it"],
  ],
  shopify: [
    [
      "POST https://acme.myshopify.com/admin/api/2025-01/orders/450789469/refunds.json",
      "final!",
      { refund: {} },
    ],
    [
      "POST https://acme.myshopify.com/admin/api/2025-01/graphql.json",
      "archive the product",
      { query: 'mutation { productCreate(product: {title: "x"}) { product { id } } }' },
    ],
  ],
};
