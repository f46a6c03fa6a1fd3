/* One batch of netlink messages: a table, a chain before routing, and its rules. */
#include "redirect.h"

#include "common.h"
#include "netlink.h"
#include "transparent.h"

#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <string.h>

enum { DNS_PORT = 53, OFFSET_DESTINATION4 = 16, OFFSET_DESTINATION6 = 24, OFFSET_PORT = 2 };

static size_t begin_expression(struct text *batch, const char *name, size_t *data) {
    size_t element = netlink_nest(batch, NFTA_LIST_ELEM);
    netlink_string(batch, NFTA_EXPR_NAME, name);
    *data = netlink_nest(batch, NFTA_EXPR_DATA);
    return element;
}

static void end_expression(struct text *batch, size_t element, size_t data) {
    netlink_unnest(batch, data);
    netlink_unnest(batch, element);
}

static void load_meta(struct text *batch, uint32_t key) {
    size_t data;
    size_t element = begin_expression(batch, "meta", &data);
    netlink_number(batch, NFTA_META_DREG, NFT_REG_1);
    netlink_number(batch, NFTA_META_KEY, key);
    end_expression(batch, element, data);
}

static void load_payload(struct text *batch, uint32_t base, uint32_t offset, uint32_t count) {
    size_t data;
    size_t element = begin_expression(batch, "payload", &data);
    netlink_number(batch, NFTA_PAYLOAD_DREG, NFT_REG_1);
    netlink_number(batch, NFTA_PAYLOAD_BASE, base);
    netlink_number(batch, NFTA_PAYLOAD_OFFSET, offset);
    netlink_number(batch, NFTA_PAYLOAD_LEN, count);
    end_expression(batch, element, data);
}

static void add_value(struct text *batch, uint16_t type, const void *value, size_t count) {
    size_t nested = netlink_nest(batch, type);
    netlink_attribute(batch, NFTA_DATA_VALUE, value, count);
    netlink_unnest(batch, nested);
}

static void must_equal(struct text *batch, const void *value, size_t count) {
    size_t data;
    size_t element = begin_expression(batch, "cmp", &data);
    netlink_number(batch, NFTA_CMP_SREG, NFT_REG_1);
    netlink_number(batch, NFTA_CMP_OP, NFT_CMP_EQ);
    add_value(batch, NFTA_CMP_DATA, value, count);
    end_expression(batch, element, data);
}

static void must_equal_byte(struct text *batch, uint32_t key, uint8_t value) {
    load_meta(batch, key);
    must_equal(batch, &value, sizeof value);
}

static void accept_packet(struct text *batch) {
    size_t data;
    size_t element = begin_expression(batch, "immediate", &data);
    netlink_number(batch, NFTA_IMMEDIATE_DREG, NFT_REG_VERDICT);
    size_t nested = netlink_nest(batch, NFTA_IMMEDIATE_DATA);
    size_t verdict = netlink_nest(batch, NFTA_DATA_VERDICT);
    netlink_number(batch, NFTA_VERDICT_CODE, NF_ACCEPT);
    netlink_unnest(batch, verdict);
    netlink_unnest(batch, nested);
    end_expression(batch, element, data);
}

static void take_to_bridge(struct text *batch) {
    size_t data;
    uint16_t port = htons(TRANSPARENT_PORT);
    size_t element = begin_expression(batch, "immediate", &data);
    netlink_number(batch, NFTA_IMMEDIATE_DREG, NFT_REG_1);
    add_value(batch, NFTA_IMMEDIATE_DATA, &port, sizeof port);
    end_expression(batch, element, data);
    element = begin_expression(batch, "tproxy", &data);
    netlink_number(batch, NFTA_TPROXY_FAMILY, NFPROTO_UNSPEC);
    netlink_number(batch, NFTA_TPROXY_REG_PORT, NFT_REG_1);
    end_expression(batch, element, data);
    accept_packet(batch);
}

static const char table_name[] = "holdfast";
static const char chain_name[] = "out";

static size_t begin_tables(struct text *batch, uint16_t message, uint16_t flags) {
    struct nfgenmsg head = {.nfgen_family = NFPROTO_INET};
    return netlink_begin(batch, (uint16_t)(NFNL_SUBSYS_NFTABLES << 8 | message), (uint16_t)(NLM_F_ACK | flags), &head,
                         sizeof head);
}

static void frame_batch(struct text *batch, uint16_t type) {
    struct nfgenmsg head = {.res_id = htons(NFNL_SUBSYS_NFTABLES)};
    netlink_end(batch, netlink_begin(batch, type, 0, &head, sizeof head));
}

static size_t begin_rule(struct text *batch, size_t *expressions) {
    size_t rule = begin_tables(batch, NFT_MSG_NEWRULE, NLM_F_CREATE | NLM_F_APPEND);
    netlink_string(batch, NFTA_RULE_TABLE, table_name);
    netlink_string(batch, NFTA_RULE_CHAIN, chain_name);
    *expressions = netlink_nest(batch, NFTA_RULE_EXPRESSIONS);
    return rule;
}

static void end_rule(struct text *batch, size_t rule, size_t expressions) {
    netlink_unnest(batch, expressions);
    netlink_end(batch, rule);
}

/* What goes to the namespace itself stays as it is. */
static void leave_alone(struct text *batch, uint8_t family, uint32_t offset, const void *destination, size_t count) {
    size_t expressions;
    size_t rule = begin_rule(batch, &expressions);
    must_equal_byte(batch, NFT_META_NFPROTO, family);
    load_payload(batch, NFT_PAYLOAD_NETWORK_HEADER, offset, (uint32_t)count);
    must_equal(batch, destination, count);
    accept_packet(batch);
    end_rule(batch, rule, expressions);
}

bool redirect_connections(void) {
    struct text batch = {0};
    frame_batch(&batch, NFNL_MSG_BATCH_BEGIN);
    size_t message = begin_tables(&batch, NFT_MSG_NEWTABLE, NLM_F_CREATE);
    netlink_string(&batch, NFTA_TABLE_NAME, table_name);
    netlink_end(&batch, message);
    message = begin_tables(&batch, NFT_MSG_NEWCHAIN, NLM_F_CREATE);
    netlink_string(&batch, NFTA_CHAIN_TABLE, table_name);
    netlink_string(&batch, NFTA_CHAIN_NAME, chain_name);
    size_t hook = netlink_nest(&batch, NFTA_CHAIN_HOOK);
    netlink_number(&batch, NFTA_HOOK_HOOKNUM, NF_INET_PRE_ROUTING);
    netlink_number(&batch, NFTA_HOOK_PRIORITY, (uint32_t)-150);
    netlink_unnest(&batch, hook);
    netlink_string(&batch, NFTA_CHAIN_TYPE, "filter");
    netlink_end(&batch, message);
    const uint8_t loopback4 = 127;
    const uint32_t own4 = htonl(TRANSPARENT_OWN4);
    const uint8_t loopback6[16] = {[15] = 1};
    uint8_t own6[16] = TRANSPARENT_PREFIX6;
    own6[15] = 1;
    leave_alone(&batch, NFPROTO_IPV4, OFFSET_DESTINATION4, &loopback4, sizeof loopback4);
    leave_alone(&batch, NFPROTO_IPV4, OFFSET_DESTINATION4, &own4, sizeof own4);
    leave_alone(&batch, NFPROTO_IPV6, OFFSET_DESTINATION6, loopback6, sizeof loopback6);
    leave_alone(&batch, NFPROTO_IPV6, OFFSET_DESTINATION6, own6, sizeof own6);
    size_t expressions;
    size_t rule = begin_rule(&batch, &expressions);
    const uint16_t dns = htons(DNS_PORT);
    must_equal_byte(&batch, NFT_META_L4PROTO, IPPROTO_TCP);
    load_payload(&batch, NFT_PAYLOAD_TRANSPORT_HEADER, OFFSET_PORT, sizeof dns);
    must_equal(&batch, &dns, sizeof dns);
    accept_packet(&batch);
    end_rule(&batch, rule, expressions);
    rule = begin_rule(&batch, &expressions);
    must_equal_byte(&batch, NFT_META_L4PROTO, IPPROTO_TCP);
    take_to_bridge(&batch);
    end_rule(&batch, rule, expressions);
    frame_batch(&batch, NFNL_MSG_BATCH_END);
    int asked = netlink_ask(NETLINK_NETFILTER, &batch, 8);
    text_free(&batch);
    return asked == 0;
}
