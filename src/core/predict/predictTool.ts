import { discloses, irreversible, local, type Prediction, recoverable } from "./effect.ts";

/** Tools that agents bring along and that touch nothing but the workspace, the session or the person. */
const localTools = new Set(
  (
    "read read_file read_many_files readfile view view_image write write_file create edit multiedit notebookedit notebookread replace str_replace " +
    "str_replace_editor str_replace_based_edit_tool insert apply_patch patch grep grep_search search_file_content search_files ripgrep rg glob find list list_dir list_directory ls lsp " +
    "file_search codebase_search semantic_search list_code_usages get_errors get_changed_files test_failure todowrite todoread todo todos update_todo write_todos update_plan plan enterplanmode " +
    "exitplanmode exit_plan_mode task agent subagent spawn_agent wait_agent close_agent send_input taskcreate taskupdate tasklist taskget taskoutput taskstop bashoutput killshell " +
    "killbash kill_shell stop_bash read_bash write_bash list_bash write_stdin skill slashcommand toolsearch tool_search_call tool_search tool_search_tool askuserquestion ask_user request_user_input question sendmessage " +
    "reportfindings report_intent report_progress think sequentialthinking memory save_memory remember enterworktree exitworktree schedulewakeup croncreate cronlist crondelete structuredoutput " +
    "structured_output submit attempt_completion new_task switch_mode local_shell_output getdiagnostics listmcpresources listmcpresourcestool readmcpresource readmcpresourcetool list_mcp_resources read_mcp_resource sleep wait " +
    "move_file delete_file rename_file copy_file create_directory create_file remove_file code_interpreter js_repl sql fetch_copilot_cli_documentation store_memory vote_memory session_store_sql"
  ).split(" "),
);

const webTools =
  /^(?:web_?fetch|web_?search(?:_call|_preview)?|fetch|fetch_webpage|fetch_url|google_web_search|search_web|open_url|read_url_content|image_gen\w*|image_generation_call|websearchtool)$/;

/** Servers that work on this machine only. */
const localServers =
  /^(?:ide|pencil|filesystem|fs|memory|sequential-?thinking|ccd_\w+|claude_code\w*|serena|git|sqlite|time|everything|figma-desktop|xcode\w*|jetbrains|vscode|lsp|language-server|ast-grep|repomix|obsidian|todo|task-?master\w*|basic-memory|codebase\w*|docker|node_repl|nx-mcp|storybook|session\w*)$/i;

const browsers = /browser|playwright|puppeteer|chrome|devtools|selenium|stagehand|webdriver/i;

const readingVerb =
  /(?:^|[_\-.])(?:get|list|search|read|fetch|find|query|describe|show|view|resolve|lookup|look_up|check|ask|count|download|whoami|status|info|inspect|explain|diff|history|browse|analy[sz]e|validate|preview|scrape|crawl|map|extract|docs|documentation|help|ping|screenshot)(?:$|[_\-.])/i;
const finalVerb =
  /(?:^|[_\-.])(?:comment|comments|reply|replies|send|post|message|mail|email|notify|publish|merge|delete|remove|destroy|drop|purge|execute|exec|run|invoke|trigger|dispatch|deploy|pay|charge|refund|transfer|buy|order|submit|review|approve|revoke|rotate|push|upload|share|invite|apply|sql|query_write|write_query)(?:$|[_\-.])/i;
const undoableVerb =
  /(?:^|[_\-.])(?:create|update|add|save|set|edit|move|archive|unarchive|label|assign|unassign|close|reopen|open|rename|duplicate|copy|link|unlink|patch|put|upsert|insert|resolve|unresolve|restore|draft|star|subscribe|pause|resume|cancel|rerun|retry|start|stop|enable|disable|attach|schedule)(?:$|[_\-.])/i;

/** What a tool that is not a shell would do, told from its name. `undefined` for browsers: their page decides. */
export function predictTool(tool: string): Prediction | undefined {
  const { server, name } = toolName(tool);
  if (server === undefined) return predictOwnTool(name);
  if (browsers.test(server)) return undefined;
  const spaced = name.replaceAll(/([a-z])([A-Z])/g, "$1_$2");
  if (localServers.test(server) && !/push|publish/i.test(spaced)) {
    return local(`works with ${server} on this machine`);
  }
  if (
    /^_?(?:list|get|search|find|fetch|describe|show|view|lookup|resolve[_-](?:library|id|url))(?:$|[_\-.])/i.test(
      spaced,
    )
  ) {
    return discloses(`${name} of ${server}`);
  }
  if (finalVerb.test(spaced)) return irreversible(`${name} of ${server}`);
  // "create_comment" is final by its noun.
  if (undoableVerb.test(spaced))
    return recoverable(`${name} of ${server}`, "undo it on the platform");
  if (readingVerb.test(spaced)) return discloses(`${name} of ${server}`);
  return irreversible(`${name} of ${server}, which is not known`);
}

/** `mcp__server__tool`, `mcp__server.tool`, `server-tool` of Copilot: which server, which tool. */
export function toolName(tool: string): { readonly server?: string; readonly name: string } {
  const match =
    /^mcp__(.+?)(?:__|\.)(.+)$/.exec(tool) ??
    /^mcp_([a-z0-9-]+)_(.+)$/i.exec(tool) ??
    /^((?:github|playwright|linear|notion|slack|jira|atlassian|sentry|figma|context7|chrome-devtools)(?:-mcp)?(?:-server)?)[-_](.+)$/i.exec(
      tool,
    );
  const [, server, name] = match ?? [];
  return server === undefined || name === undefined ? { name: tool } : { server, name };
}

function predictOwnTool(name: string): Prediction {
  const plain = name.toLowerCase();
  if (localTools.has(plain)) return local();
  if (webTools.test(plain)) return discloses("reads a web page");
  if (/(?:agents?|todos?|plan|memory|skill|worktree|task|tasks)$/.test(plain)) return local();
  if (plain === "artifact") return recoverable("publishes an artifact", "unpublish it");
  return irreversible(`the tool ${name}, which is not known`);
}
