#include "suspect.h"

#include <stdint.h>
#include <string.h>
#include <strings.h>

static const char *const marks[] = {
    "AKIA",       "ASIA",       "aws_secret",  "AWS_SECRET",  "ecretAccessKey", "ghp_",        "gho_",
    "ghu_",       "ghs_",       "ghr_",        "github_pat_", "glpat-",         "xoxa-",       "xoxb-",
    "xoxe-",      "xoxp-",      "xoxr-",       "xoxs-",       "xapp-",          "npm_",        "_authToken",
    "_password",  "sk-ant-",    "sk-proj-",    "sk-svcacct-", "sk_live_",       "rk_live_",    "sk_test_",
    "PRIVATE KEY", "AIza",      "SG.",         "hooks.slack.com/services/",     "ops_eyJ",     "lin_api_",
    "shpat_",     "figd_",      "dckr_pat_",   "hf_",         "gsk_",           "private_key", "AccountKey=",
    "pypi-AgEI",  "T3BlbkFJ",   "ya29.",       "whsec_",      "xai-",           "vercel_",     "NRAK-",
};

enum { MARKS = sizeof marks / sizeof *marks };

/* For every pair of bytes whether a mark may begin with it. */
static uint64_t pairs[65536 / 64];

static unsigned pair_of(const unsigned char *at) {
    return (unsigned)at[0] << 8 | at[1];
}

void suspect_prepare(void) {
    for (size_t i = 0; i < MARKS; i++) {
        unsigned pair = pair_of((const unsigned char *)marks[i]);
        pairs[pair / 64] |= 1ull << pair % 64;
    }
    unsigned colon = pair_of((const unsigned char *)":/");
    pairs[colon / 64] |= 1ull << colon % 64;
}

static bool begins_with(const char *text, const char *start) {
    return strncasecmp(text, start, strlen(start)) == 0;
}

static bool ends_with(const char *text, const char *end) {
    size_t length = strlen(text);
    size_t tail = strlen(end);
    return length >= tail && strcasecmp(text + length - tail, end) == 0;
}

/* Names that say nothing but in one directory. */
static bool suspect_place(const char *directory, const char *name) {
    if (strcmp(name, "config") == 0) {
        return strcmp(directory, ".kube") == 0 || strcmp(directory, ".aws") == 0;
    }
    return (strcmp(name, "config.json") == 0 && strcmp(directory, ".docker") == 0) || strcasecmp(directory, ".envs") == 0;
}

/* Files in a directory of a directory of settings (`.envs/.local/.django`) are told by their own names. */
bool suspect_name(const char *directory, const char *name) {
    static const char *const starts[] = {".env", "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "credentials",
                                         ".npmrc", ".yarnrc", ".pypirc", ".netrc", "_netrc", ".git-credentials",
                                         ".dockercfg", ".htpasswd", "secrets.", ".pgpass", ".my.cnf", ".vault-token",
                                         "service-account", "serviceaccount", "terraform.tfstate", ".flaskenv", ".dev.vars",
                                         "auth.json", ".s3cfg", ".boto", "local.settings.json",
                                         "application_default_credentials", ".django", ".postgres"};
    static const char *const ends[] = {".env", ".pem", ".key", ".p12", ".pfx", ".jks", ".keystore", ".kdbx",
                                       ".tfvars", ".ppk", ".p8", ".tfstate", ".tfstate.backup", ".tfvars.json", ".env~",
                                       ".kubeconfig"};
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
        if (begins_with(name, starts[i])) {
            return true;
        }
    }
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        if (ends_with(name, ends[i])) {
            return true;
        }
    }
    return strcasecmp(name, "kubeconfig") == 0 || (directory && suspect_place(directory, name));
}

/* scheme://user:password@ */
static bool is_url_with_password(const char *at, const char *end) {
    if (end - at < 4 || memcmp(at, "://", 3) != 0) {
        return false;
    }
    bool colon = false;
    for (const char *p = at + 3; p < end && p - at < 512; p++) {
        switch (*p) {
        case ':': colon = true; break;
        case '@': return colon;
        case '/':
        case ' ':
        case '\t':
        case '\r':
        case '\n':
        case '"':
        case '\'':
        case '<':
        case '>': return false;
        default: break;
        }
    }
    return false;
}

static bool is_mark(const char *at, const char *end) {
    for (size_t i = 0; i < MARKS; i++) {
        size_t length = strlen(marks[i]);
        if (marks[i][0] == *at && (size_t)(end - at) >= length && memcmp(at, marks[i], length) == 0) {
            return true;
        }
    }
    return is_url_with_password(at, end);
}

bool suspect_bytes(const char *bytes, size_t count) {
    const char *end = bytes + (count < SUSPECT_LIMIT ? count : SUSPECT_LIMIT);
    for (const char *at = bytes; at + 1 < end; at++) {
        unsigned pair = pair_of((const unsigned char *)at);
        if (pairs[pair / 64] >> pair % 64 & 1 && is_mark(at, end)) {
            return true;
        }
    }
    return false;
}
