// SINGLE_ITEM_KERNEL: a kernel of the CPU family, whose work-groups consist of one work-item.
#pragma once

#define SINGLE_ITEM_KERNEL __kernel __attribute__((reqd_work_group_size(1, 1, 1)))
