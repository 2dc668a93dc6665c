// A disk that loses power, for tests of code that stores with SQLite.
//
// A VFS above SQLite's own, which becomes the default one. The files of one folder are on the disk:
// what was written to them counts as durable only after xSync, and a new or deleted name only after
// the folder was synced, which SQLite does with the first xSync of a journal and with xDelete. At the
// cut, durable content and any of the rest, whole, in sectors or not at all, becomes the image that a
// machine would find after it has started again. Files elsewhere are not touched.
#pragma once

#include <stdint.h>

// What a disk may falsely report as done.
static const int32_t POWER_LOSS_LIES_ABOUT_FILES = 1;
static const int32_t POWER_LOSS_LIES_ABOUT_FOLDERS = 2;

// Puts the files of `folder` on the disk. The power fails before the operation with the number
// `operations`, which is at least 1; the image is then in the folder `image`, whose files are removed
// now. What happens after the cut is not recorded. 0 if it succeeds.
int32_t power_loss_arm(
    const char *folder, const char *image, uint64_t seed, int32_t operations, int32_t lies);
// Whether the power has failed.
int32_t power_loss_is_cut(void);
// Forgets the disk. Files that are still open are ordinary ones from now on.
void power_loss_disarm(void);
