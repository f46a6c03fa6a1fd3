/* Netlink requests, built in a text: messages with nested attributes, sent as one batch, every one of them answered. */
#ifndef HOLDFAST_NETLINK_H
#define HOLDFAST_NETLINK_H

#include "common.h"

/* Begins a message with its fixed part; returns where it begins, for netlink_end. */
size_t netlink_begin(struct text *batch, uint16_t type, uint16_t flags, const void *fixed, size_t count);
void netlink_end(struct text *batch, size_t begun);

void netlink_attribute(struct text *batch, uint16_t type, const void *value, size_t count);
void netlink_string(struct text *batch, uint16_t type, const char *value);
/* A number in network order, as nf_tables takes them. */
void netlink_number(struct text *batch, uint16_t type, uint32_t value);
size_t netlink_nest(struct text *batch, uint16_t type);
void netlink_unnest(struct text *batch, size_t begun);

/* Sends the batch and waits for `answers` acknowledgements. 0, or -1 with the errno of the first refusal. */
int netlink_ask(int protocol, const struct text *batch, int answers);

#endif
