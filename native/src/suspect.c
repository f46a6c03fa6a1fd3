#include "suspect.h"

#include <stdint.h>
#include <string.h>
#include <strings.h>

/* Text whose length the compiler knows: what is asked at every byte must not be counted there. */
struct word {
    const char *text;
    size_t length;
};

#define WORD(literal) {literal, sizeof literal - 1}

static const struct word marks[] = {
    WORD("AKIA"),        WORD("ASIA"),        WORD("aws_secret"),  WORD("AWS_SECRET"), WORD("ecretAccessKey"),
    WORD("ghp_"),        WORD("gho_"),        WORD("ghu_"),        WORD("ghs_"),       WORD("ghr_"),
    WORD("github_pat_"), WORD("glpat-"),      WORD("xoxa-"),       WORD("xoxb-"),      WORD("xoxe-"),
    WORD("xoxp-"),       WORD("xoxr-"),       WORD("xoxs-"),       WORD("xapp-"),      WORD("npm_"),
    WORD("_authToken"),  WORD("_password"),   WORD("sk-ant-"),     WORD("sk-proj-"),   WORD("sk-svcacct-"),
    WORD("sk_live_"),    WORD("rk_live_"),    WORD("sk_test_"),    WORD("PRIVATE KEY"), WORD("AIza"),
    WORD("SG."),         WORD("hooks.slack.com/services/"),        WORD("ops_eyJ"),    WORD("lin_api_"),
    WORD("shpat_"),      WORD("figd_"),       WORD("dckr_pat_"),   WORD("hf_"),        WORD("gsk_"),
    WORD("private_key"), WORD("AccountKey="), WORD("pypi-AgEI"),   WORD("T3BlbkFJ"),   WORD("ya29."),
    WORD("whsec_"),      WORD("xai-"),        WORD("vercel_"),     WORD("NRAK-"),
};

enum { MARKS = sizeof marks / sizeof *marks };

/* For every pair of bytes one more than the first mark that begins with it, and from there the next one; 0 at the end. A byte
 * for each pair, not a bit: it is asked at every byte of every file. */
static uint8_t first_mark[65536];
static uint8_t next_mark[MARKS];

/* In the place of a mark, for what may be an address. */
enum { ADDRESS = UINT8_MAX };

static unsigned pair_of(const char *at) {
    uint16_t pair;
    memcpy(&pair, at, sizeof pair);
    return pair;
}

void suspect_prepare(void) {
    for (unsigned i = 0; i < MARKS; i++) {
        unsigned pair = pair_of(marks[i].text);
        /* Once, however often it is prepared. */
        if (first_mark[pair] < i + 1) {
            next_mark[i] = first_mark[pair];
            first_mark[pair] = (uint8_t)(i + 1);
        }
    }
    first_mark[pair_of(":/")] = ADDRESS;
}

/* Whether two letters may be the same one, in either case. */
static bool may_match(char one, char other) {
    return (one | 0x20) == (other | 0x20);
}

static bool begins_with(const char *text, size_t length, const struct word *start) {
    return length >= start->length && may_match(*text, *start->text) && strncasecmp(text, start->text, start->length) == 0;
}

static bool ends_with(const char *text, size_t length, const struct word *end) {
    return length >= end->length && may_match(text[length - 1], end->text[end->length - 1]) &&
           strcasecmp(text + length - end->length, end->text) == 0;
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
    static const struct word starts[] = {
        WORD(".env"),       WORD("id_rsa"),        WORD("id_dsa"),          WORD("id_ecdsa"),
        WORD("id_ed25519"), WORD("credentials"),   WORD(".npmrc"),          WORD(".yarnrc"),
        WORD(".pypirc"),    WORD(".netrc"),        WORD("_netrc"),          WORD(".git-credentials"),
        WORD(".dockercfg"), WORD(".htpasswd"),     WORD("secrets."),        WORD(".pgpass"),
        WORD(".my.cnf"),    WORD(".vault-token"),  WORD("service-account"), WORD("serviceaccount"),
        WORD("terraform.tfstate"), WORD(".flaskenv"), WORD(".dev.vars"),    WORD("auth.json"),
        WORD(".s3cfg"),     WORD(".boto"),         WORD("local.settings.json"),
        WORD("application_default_credentials"),   WORD(".django"),         WORD(".postgres"),
    };
    static const struct word ends[] = {
        WORD(".env"),    WORD(".pem"),    WORD(".key"),     WORD(".p12"),            WORD(".pfx"),         WORD(".jks"),
        WORD(".keystore"), WORD(".kdbx"), WORD(".tfvars"),  WORD(".ppk"),            WORD(".p8"),          WORD(".tfstate"),
        WORD(".tfstate.backup"),          WORD(".tfvars.json"), WORD(".env~"),       WORD(".kubeconfig"),
    };
    size_t length = strlen(name);
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
        if (begins_with(name, length, &starts[i])) {
            return true;
        }
    }
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        if (ends_with(name, length, &ends[i])) {
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
    unsigned i = first_mark[pair_of(at)];
    if (i == ADDRESS) {
        return is_url_with_password(at, end);
    }
    for (; i > 0; i = next_mark[i - 1]) {
        const struct word *mark = &marks[i - 1];
        if ((size_t)(end - at) >= mark->length && memcmp(at, mark->text, mark->length) == 0) {
            return true;
        }
    }
    return false;
}

enum { STRIDE = 4 };

/* Whether no mark begins at the next STRIDE bytes. */
static bool is_free_of_marks(const char *at) {
    unsigned found = 0;
    for (int i = 0; i < STRIDE; i++) {
        found |= first_mark[pair_of(at + i)];
    }
    return found == 0;
}

bool suspect_bytes(const char *bytes, size_t count) {
    const char *end = bytes + (count < SUSPECT_LIMIT ? count : SUSPECT_LIMIT);
    for (const char *at = bytes; at + 1 < end;) {
        if (end - at > STRIDE && is_free_of_marks(at)) {
            at += STRIDE;
        } else if (first_mark[pair_of(at)] != 0 && is_mark(at, end)) {
            return true;
        } else {
            at++;
        }
    }
    return false;
}
