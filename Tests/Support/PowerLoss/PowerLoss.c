#define _GNU_SOURCE
#include "CPowerLoss.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// SQLite's interface, which never changes.
enum { OK = 0, OPEN_CREATE = 0x4, OPEN_MAIN_JOURNAL = 0x800, POWERSAFE = 0x1000 };

typedef struct vfs vfs;
typedef struct file file;

typedef struct {
  int version;
  int (*close)(file *);
  int (*read)(file *, void *, int, int64_t);
  int (*write)(file *, const void *, int, int64_t);
  int (*truncate)(file *, int64_t);
  int (*sync)(file *, int);
  int (*size)(file *, int64_t *);
  int (*lock)(file *, int);
  int (*unlock)(file *, int);
  int (*is_reserved)(file *, int *);
  int (*control)(file *, int, void *);
  int (*sector_size)(file *);
  int (*characteristics)(file *);
} methods;

struct file {
  const methods *methods;
};

struct vfs {
  int version, file_size, longest_path;
  vfs *next;
  const char *name;
  void *data;
  int (*open)(vfs *, const char *, file *, int, int *);
  int (*delete)(vfs *, const char *, int);
  void (*others[14])(void);
};

// The disk.

enum { SECTOR = 512, NAMES = 8 };

// A write, or with a negative length a truncation, that was not synced.
typedef struct change {
  struct change *next;
  int64_t offset;
  int32_t length;
  uint8_t octets[];
} change;

typedef struct inode {
  struct inode *next;
  uint8_t *durable;
  int64_t size;
  change *first, **last;
} inode;

// A name, with the file that it had when the folder was last synced and the one that it has now.
static struct {
  char text[64];
  inode *durable, *now;
} names[NAMES];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char folder[256], image[256];
static inode *inodes;
static uint64_t state, epoch;
static int32_t left, lies, is_cut;

static uint64_t draw(uint64_t limit) {
  uint64_t z = (state += 0x9E3779B97F4A7C15);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return (z ^ (z >> 31)) % limit;
}

static void *allocated(size_t size) {
  void *memory = calloc(1, size ? size : 1);
  if (!memory) abort();
  return memory;
}

static inode *make_inode(void) {
  inode *made = allocated(sizeof *made);
  made->last = &made->first;
  made->next = inodes;
  return inodes = made;
}

static void forget_changes(inode *node) {
  while (node->first) {
    change *next = node->first->next;
    free(node->first);
    node->first = next;
  }
  node->last = &node->first;
}

// Grows or shrinks. New octets are zero, or what the sectors held before.
static void resize(uint8_t **octets, int64_t *size, int64_t wanted, int is_garbage) {
  if (wanted != *size) {
    uint8_t *made = realloc(*octets, wanted ? wanted : 1);
    if (!made) abort();
    for (int64_t at = *size; at < wanted; at++) made[at] = is_garbage ? (uint8_t)draw(256) : 0;
    *octets = made;
  }
  *size = wanted;
}

static void apply(uint8_t **octets, int64_t *size, const change *one, int is_torn, int is_garbage) {
  if (one->length < 0) return resize(octets, size, one->offset, 0);
  int64_t end = one->offset + one->length;
  if (end > *size) resize(octets, size, end, is_garbage);
  for (int64_t at = one->offset; at < end;) {
    int64_t next = (at / SECTOR + 1) * SECTOR;
    if (next > end) next = end;
    int64_t part = next - at;
    // Of a sector: all of it, its beginning, or nothing.
    if (is_torn && draw(2)) part = draw(3) ? 0 : (int64_t)draw(part + 1);
    memcpy(*octets + at, one->octets + (at - one->offset), part);
    at = next;
  }
}

static void settle(inode *node) {
  for (change *one = node->first; one; one = one->next)
    apply(&node->durable, &node->size, one, 0, 0);
  forget_changes(node);
}

static void settle_names(void) {
  if (lies & POWER_LOSS_LIES_ABOUT_FOLDERS) return;
  for (int n = 0; n < NAMES; n++) names[n].durable = names[n].now;
}

static void put(const char *name, const inode *node, uint64_t manner) {
  uint8_t *octets = allocated(node->size);
  int64_t size = node->size;
  memcpy(octets, node->durable, size);
  int is_garbage = (int)draw(2);
  for (change *one = node->first; one; one = one->next) {
    uint64_t fate = manner == 0 ? 0 : manner == 1 ? 1 : draw(3);
    if (fate) apply(&octets, &size, one, fate == 2, is_garbage);
  }
  char path[512];
  snprintf(path, sizeof path, "%s/%s", image, name);
  int descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (descriptor < 0 || write(descriptor, octets, size) != size) abort();
  close(descriptor);
  free(octets);
}

// Called before each operation. Returns whether it is to be recorded.
static int tick(void) {
  if (is_cut) return 0;
  if (--left > 0) return 1;
  is_cut = 1;
  // Of what was not synced: nothing, everything, or any part.
  uint64_t manner = draw(4);
  for (int n = 0; n < NAMES; n++) {
    int is_new = manner == 0 ? 0 : manner == 1 ? 1 : (int)draw(2);
    inode *node = is_new ? names[n].now : names[n].durable;
    if (node) put(names[n].text, node, manner);
  }
  return 0;
}

// The name's entry; a new one if it has none.
static int entry(const char *name) {
  for (int n = 0; n < NAMES; n++) {
    if (!*names[n].text) snprintf(names[n].text, sizeof names[n].text, "%s", name);
    if (!strcmp(names[n].text, name)) return n;
  }
  abort();
}

// The entry of a path; -1 for a file that is not on the disk.
static int entry_of_path(const char *path) {
  size_t length = strlen(folder);
  if (!path || !length || strncmp(path, folder, length) || path[length] != '/') return -1;
  return strchr(path + length + 1, '/') ? -1 : entry(path + length + 1);
}

// The VFS.

static vfs *base;
static vfs losing;

// An open file; SQLite's own follows it.
typedef struct {
  file file;
  inode *node;
  uint64_t epoch;
  // Its first sync also syncs the folder.
  int syncs_folder;
} tracked;

static file *real(file *one) { return (file *)((tracked *)one + 1); }

// Locks the disk. The file on it; null if there is none.
static inode *node_of(file *one) {
  pthread_mutex_lock(&lock);
  tracked *open = (tracked *)one;
  return open->epoch == epoch ? open->node : NULL;
}

static void add(inode *node, const void *octets, int32_t length, int64_t offset) {
  change *made = allocated(sizeof *made + (length > 0 ? length : 0));
  made->offset = offset;
  made->length = length;
  if (length > 0) memcpy(made->octets, octets, length);
  *node->last = made;
  node->last = &made->next;
}

static int close_file(file *one) { return real(one)->methods->close(real(one)); }

static int read_file(file *one, void *octets, int count, int64_t offset) {
  return real(one)->methods->read(real(one), octets, count, offset);
}

static int write_file(file *one, const void *octets, int count, int64_t offset) {
  inode *node = node_of(one);
  if (node && tick()) add(node, octets, count, offset);
  pthread_mutex_unlock(&lock);
  return real(one)->methods->write(real(one), octets, count, offset);
}

static int truncate_file(file *one, int64_t size) {
  inode *node = node_of(one);
  if (node && tick()) add(node, NULL, -1, size);
  pthread_mutex_unlock(&lock);
  return real(one)->methods->truncate(real(one), size);
}

static int sync_file(file *one, int flags) {
  inode *node = node_of(one);
  if (node && tick()) {
    if (!(lies & POWER_LOSS_LIES_ABOUT_FILES)) settle(node);
    // A second operation, before which the power may fail.
    if (((tracked *)one)->syncs_folder && tick()) settle_names();
    ((tracked *)one)->syncs_folder = 0;
  }
  pthread_mutex_unlock(&lock);
  return node ? OK : real(one)->methods->sync(real(one), flags);
}

static int file_size(file *one, int64_t *size) {
  return real(one)->methods->size(real(one), size);
}

static int lock_file(file *one, int level) { return real(one)->methods->lock(real(one), level); }

static int unlock_file(file *one, int level) {
  return real(one)->methods->unlock(real(one), level);
}

static int is_reserved(file *one, int *result) {
  return real(one)->methods->is_reserved(real(one), result);
}

static int control(file *one, int operation, void *argument) {
  return real(one)->methods->control(real(one), operation, argument);
}

static int sector_size(file *one) { return real(one)->methods->sector_size(real(one)); }

static int characteristics(file *one) { return POWERSAFE; }

static const methods tracked_methods = {
    1, close_file, read_file, write_file, truncate_file, sync_file, file_size, lock_file,
    unlock_file, is_reserved, control, sector_size, characteristics};

static int open_file(vfs *self, const char *path, file *one, int flags, int *found) {
  tracked *open = (tracked *)one;
  memset(open, 0, sizeof *open);
  pthread_mutex_lock(&lock);
  int at = entry_of_path(path);
  if (at >= 0) {
    if (!names[at].now && tick()) names[at].now = make_inode();
    open->node = names[at].now;
    open->epoch = epoch;
    open->syncs_folder = flags & OPEN_CREATE && flags & OPEN_MAIN_JOURNAL;
  }
  pthread_mutex_unlock(&lock);
  int result = base->open(base, path, real(one), flags, found);
  if (real(one)->methods) one->methods = &tracked_methods;
  return result;
}

static int delete_file(vfs *self, const char *path, int syncs_folder) {
  pthread_mutex_lock(&lock);
  int at = entry_of_path(path);
  if (at >= 0 && names[at].now && tick()) {
    names[at].now = NULL;
    if (syncs_folder && tick()) settle_names();
  }
  pthread_mutex_unlock(&lock);
  return base->delete(base, path, at >= 0 ? 0 : syncs_folder);
}

static int is_installed(void) {
  if (base) return 1;
  const char *name = getenv("ATTO_SQLITE");
  void *library = dlopen(name && *name ? name : "libsqlite3.so.0", RTLD_NOW | RTLD_LOCAL);
  if (!library) return 0;
  vfs *(*find)(const char *) = (vfs * (*)(const char *))dlsym(library, "sqlite3_vfs_find");
  int (*add)(vfs *, int) = (int (*)(vfs *, int))dlsym(library, "sqlite3_vfs_register");
  int (*initialize)(void) = (int (*)(void))dlsym(library, "sqlite3_initialize");
  if (!find || !add || !initialize || initialize() != OK || !(base = find(NULL))) return 0;
  losing = *base;
  losing.name = "power-loss";
  losing.file_size += sizeof(tracked);
  losing.open = open_file;
  losing.delete = delete_file;
  return add(&losing, 1) == OK;
}

static void load(const char *name) {
  char path[512];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  int descriptor = open(path, O_RDONLY | O_CLOEXEC);
  struct stat status;
  if (descriptor < 0 || fstat(descriptor, &status)) abort();
  inode *node = make_inode();
  node->durable = allocated(status.st_size);
  node->size = status.st_size;
  if (read(descriptor, node->durable, node->size) != node->size) abort();
  close(descriptor);
  int at = entry(name);
  names[at].durable = names[at].now = node;
}

static int for_each_file(const char *path, void (*body)(const char *)) {
  DIR *open = opendir(path);
  if (!open) return 0;
  for (struct dirent *one; (one = readdir(open));)
    if (*one->d_name != '.') body(one->d_name);
  closedir(open);
  return 1;
}

static void remove_from_image(const char *name) {
  char path[512];
  snprintf(path, sizeof path, "%s/%s", image, name);
  unlink(path);
}

static void forget(void) {
  while (inodes) {
    inode *next = inodes->next;
    forget_changes(inodes);
    free(inodes->durable);
    free(inodes);
    inodes = next;
  }
  memset(names, 0, sizeof names);
  *folder = 0;
  epoch++;
}

int32_t power_loss_arm(
    const char *path, const char *result, uint64_t seed, int32_t operations, int32_t wrongly) {
  pthread_mutex_lock(&lock);
  forget();
  int is_well = is_installed();
  snprintf(folder, sizeof folder, "%s", path);
  snprintf(image, sizeof image, "%s", result);
  state = seed;
  left = operations;
  lies = wrongly;
  is_cut = 0;
  is_well = is_well && for_each_file(folder, load) && for_each_file(image, remove_from_image);
  pthread_mutex_unlock(&lock);
  return is_well ? 0 : -1;
}

int32_t power_loss_is_cut(void) {
  pthread_mutex_lock(&lock);
  int32_t result = is_cut;
  pthread_mutex_unlock(&lock);
  return result;
}

void power_loss_disarm(void) {
  pthread_mutex_lock(&lock);
  forget();
  pthread_mutex_unlock(&lock);
}
