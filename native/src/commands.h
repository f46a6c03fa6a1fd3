/* One function per subcommand: gets its own name as argv[0]; its return value is the exit code. */
#ifndef HOLDFAST_COMMANDS_H
#define HOLDFAST_COMMANDS_H

int probe_main(int argc, char **argv);
int publish_main(int argc, char **argv);
int supervise_main(int argc, char **argv);
int init_main(int argc, char **argv);
int bridge_main(int argc, char **argv);
int hook_main(int argc, char **argv);
int connect_main(int argc, char **argv);
int clone_main(int argc, char **argv);
int scan_main(int argc, char **argv);
int contents_main(int argc, char **argv);
int remove_main(int argc, char **argv);
int settle_main(int argc, char **argv);
int subvolume_main(int argc, char **argv);
int fork_probe_main(int argc, char **argv);
int overlay_scan_main(int argc, char **argv);
int overlay_hold_main(int argc, char **argv);
int suspects_main(int argc, char **argv);
int resident_main(int argc, char **argv);

#endif
