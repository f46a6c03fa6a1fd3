/* The parts of `clone`: one run's state, shared by the walk (cloneTree.c), the copy of a file (cloneFile.c), the
 * manifest it leaves (cloneManifest.c) and the command (clone.c). */
#ifndef HOLDFAST_CLONE_H
#define HOLDFAST_CLONE_H

#include "common.h"
#include "manifest.h"
#include "pack.h"
#include "tree.h"

/* What happened to one entry. FATAL ends the run: no space, no descriptors, a destination that fails. */
enum outcome { CLONED, VANISHED, UNREADABLE, FATAL };

/* One entry of a directory as it is built; `child` for directories. Names point into the node's listing. */
struct built {
    struct manifest_entry record;
    const char *name;
    char *target;
    struct node *child;
};

/* One directory of the walk. */
struct node {
    struct node *parent;
    const char *name;
    struct built *entries;
    char *names;
    uint32_t count;
    uint32_t index; /* of its record in the manifest */
    uint32_t path_bytes;
    uint32_t spare; /* of its record in the spare's manifest when its directory is the spare's, else NO_ENTRY */
    mode_t mode;
    struct timespec times[2];
    struct built *own; /* its entry in the parent; NULL of the root */
    bool frozen; /* of a listing of a frozen tree: it is looked at there and not in the live one */
    bool mount; /* stays empty: an overlay comes over it */
    bool known; /* its `count` entries are those that an earlier listing has of it: there are none of its own */
    bool same;  /* the very directory that its record in an earlier listing is of: the marks of its entries hold */
    bool late;  /* mode and times are set at the end */
    struct node *next;
};

struct counts {
    uint64_t files, directories, links, bytes, saved_bytes;
    uint64_t shared, copied, linked, sparse;
    uint64_t special, vanished, unreadable, changing, xattrs_lost;
    uint64_t kept; /* files of the spare */
    uint64_t unseen; /* of a listing: files whose content could not be looked at */
};

struct worker {
    struct pack pack;
    struct counts counts;
    char *buffer;
    int64_t last_ctime;
};

/* A file with more than one link, found first at `node`/`name`; `ready` once it stands in the shadow. */
struct hard_link {
    uint64_t dev, ino;
    struct node *node;
    struct built *entry;
    bool ready;
    struct hard_link *next;
};

/* A further link, made when all threads are done. */
struct late_link {
    struct node *node;
    struct built *entry;
    struct hard_link *first;
    struct late_link *next;
};

enum { LINK_BUCKETS = 4096 };

/* The packs of a spare are those of the new clone too, by numbers that none of its threads has. */
enum { SPARE_PACK = 8 };

/* The manifest of an earlier clone of the same tree, which becomes this one; or that of an earlier listing, which a new one
 * goes by. */
struct spare {
    struct manifest manifest;
};

/* Of the records of an earlier listing, as far as the filesystem tells what has changed since. */
enum { MARK_CHANGED = 1, MARK_CHANGED_BELOW = 2 };

/* What the listing of a snapshot is of. */
struct origin {
    uint64_t uuid[2];           /* the subvolume that the snapshot is of */
    uint64_t transid, ctransid; /* of the filesystem's transactions: that of the snapshot, and that of the last change */
    uint64_t identity;          /* of the listing */
    uint64_t directories, links, special;
};

struct clone {
    int source;
    int shadow; /* -1: nothing is cloned, only listed */
    int frozen; /* the source as a snapshot has it, which is what is listed then; -1: there is none */
    int base; /* directory of the packs, -1: nothing is saved */
    struct spare spare;
    int known; /* the earlier listing that `marks` are of, or -1 */
    uint8_t *marks; /* of its records, NULL when nothing tells of changes */
    bool listed; /* the earlier listing is this one */
    uint64_t generation; /* of the source, before it was frozen */
    struct origin origin; /* of this listing */
    int64_t begun;
    bool any_device; /* of a listing: the device's number is no part of what a file is */
    const char *const *mounts;
    size_t mount_count;
    uint64_t save_limit; /* largest file that is saved by bytes */
    uint64_t root_device;
    bool share; /* try FICLONE */
    atomic_bool cannot_share;
    struct worker workers[8];
    struct pool pool;
    atomic_bool stop;
    struct node *root;
    pthread_mutex_t mutex; /* of everything below */
    struct node *late_nodes;
    struct hard_link *links[LINK_BUCKETS];
    struct late_link *late_links;
    struct text unreadable; /* JSON array of the first hundred */
    unsigned unreadable_told;
    bool failed;
    const char *failed_step;
    char *failed_path;
    int failed_errno;
};

enum { CLONE_BUFFER = 256 * 1024 };

/* A directory that a thread is at. */
struct place {
    struct clone *clone;
    struct worker *worker;
    struct node *node;
    const char *path;
    int source, shadow;
    int frozen; /* the same directory in the frozen tree, -1 while nobody had to look there */
    bool save;
    bool look; /* of a tree that is only listed: contents are looked at for secrets */
    bool whole; /* every entry was found */
};

/* Relative path of `name` in `node`; "" for the root itself with a null name. To be freed. */
char *clone_path(const struct node *node, const char *name);
/* Notes the first failure and stops all threads. */
enum outcome clone_fail(struct clone *clone, const struct node *node, const char *name, const char *step);
/* Notes something that is left out of the shadow. */
void clone_unreadable(struct clone *clone, const struct node *node, const char *name, int error);

/* Clones the tree beneath clone->source into clone->shadow. False when it failed; the failure is noted. */
bool clone_tree(struct clone *clone, unsigned threads);
/* What an earlier listing says counts no more. */
void clone_forget_known(struct clone *clone);
/* The ctime from which on an earlier listing may have missed a change. */
int64_t clone_settled_before(const struct clone *clone);

/* False when the text is none of an origin. */
bool origin_parse(struct origin *origin, const char *text);
/* To be freed. */
char *origin_format(const struct origin *origin);
/* Around the making of the snapshot: notes what it is of, and marks what has changed since an earlier listing, whose origin
 * `since` is (or NULL). */
void origin_before(struct clone *clone);
void origin_after(struct clone *clone, const struct origin *since, const char *known_path);
/* When nothing has changed, the earlier listing becomes the manifest. */
bool origin_take_all(struct clone *clone, const struct origin *since, const char *path);
/* Whether this listing is one that a later one may begin with. */
bool origin_is_whole(const struct clone *clone);

/* Inside git's object store: immutable, often large, and never part of a change set, so the base of it is not saved. */
bool clone_in_objects(const struct node *node);
/* True when this entry is a further link of a file that another thread or we have taken on: it is linked at the end. */
bool clone_is_late_link(struct clone *clone, struct node *node, struct built *entry, const struct stat *stat,
                        struct hard_link **first);
/* Does what could not be done while threads ran. */
void clone_finish_late(struct clone *clone);
/* Copies one regular file and fills its record. */
enum outcome clone_file(struct clone *clone, struct worker *worker, struct node *node, struct built *entry,
                        int source_directory, int shadow_directory, bool save);
/* Moves the whole spare to the shadow's place. False: it cannot be, and nothing was done. */
bool clone_becomes_spare(struct clone *clone, const char *spare, const char *to);
/* Whether what the spare has of a file or link is what stands in the source; then it stays, and its record is filled. */
bool clone_keep(struct place *at, struct built *entry, const struct stat *stat);
/* Removes what the spare has at a name. False when it cannot be; the failure is noted. */
bool clone_clear(struct place *at, const char *name);
/* The shadow's directory of an entry: `spare` is its record in the spare's manifest when that has it, else NO_ENTRY. */
enum outcome clone_make_directory(struct place *at, struct built *entry, uint32_t *spare);
/* Removes what the spare's directory has and the source's does not. False when it cannot be; the failure is noted. */
bool clone_tidy_directory(struct place *at, const struct listing *source);
/* Whether a directory of the spare has its mode and time already. */
bool clone_is_finished(const struct place *at);
/* Inside other people's code, where files are judged by their names alone when nothing is read anyway. */
bool clone_in_vendored(const struct node *node);
/* An entry that is no regular file, of the directory `source`. */
enum outcome clone_other(struct place *at, struct built *entry, int source, const struct stat *stat);
/* One entry of a tree that is only listed: one question a file. Its content is looked at for secrets when asked, unless an
 * earlier listing has read the very same content. */
enum outcome clone_list_entry(struct place *at, struct built *entry);
/* One directory of a tree that is only listed. */
void clone_list_directory(struct place *at);
/* Room for the entries of at->node. False when there is no memory; the failure is noted. */
bool clone_make_entries(struct place *at, size_t count);
/* Makes the entries of at->node that are listed, and takes over their names. */
void clone_entries(struct place *at, struct listing *listing);
/* Counts an entry of a directory in, or leaves it out. False when the run is over. */
bool clone_settle_entry(struct place *at, struct built *entry, enum outcome outcome);
/* Whether nothing below a directory is looked at. */
bool clone_skips_directory(struct clone *clone, struct node *node, int source);
/* Adds an entry that was taken from an earlier listing. */
void clone_count_known(struct counts *counts, const struct manifest_entry *was);
/* When nothing has changed in a directory and below it, what an earlier listing has of it stands. */
void clone_know_directory(struct clone *clone, struct node *node);
/* What the host has of an entry. */
void clone_fill_record(struct manifest_entry *record, const struct stat *stat);
/* Whether nothing has changed since a moment before we began: later changes have a later time. */
bool clone_is_at_rest(const struct clone *clone, int64_t ctime);
/* Copies extended attributes from one descriptor to another, as far as the destination takes them; all but a directory's
 * default access list, of which it tells whether there is one. */
bool clone_xattrs(struct worker *worker, int from, int to);
/* Removes from the shadow's directory what the source's does not have, and any default access list. False with errno. */
bool clone_drop_xattrs(struct place *at);
/* Copies the default access list, once nothing more is made in a directory. */
void clone_inherited(struct worker *worker, int from, int to);
/* Takes it away again; whether there was one. */
bool clone_suspend_inherited(int to);
/* Fills the shadow's inode, ctime and birth time of an entry. 0, or -1 with errno. */
int clone_stat_shadow(struct worker *worker, int directory, const char *name, struct manifest_entry *record);
/* Writes the manifest of what was cloned. 0, or -1 with errno. */
int clone_write_manifest(struct clone *clone, const char *path);

#endif
