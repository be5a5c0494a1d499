/* What a tool of another version of this framework exports: each structure begins with a version, and
 * nothing behind it may be read by tools that do not know it. Its addresses are those of no memory. */
#define NOTHING 0xfefefefefefefefeul

static unsigned long const info[16] = {
    999, NOTHING, NOTHING, NOTHING, NOTHING, NOTHING, NOTHING, NOTHING,
    NOTHING, NOTHING, NOTHING, NOTHING, NOTHING, NOTHING, NOTHING, NOTHING,
};
void const *const mpi_tool_info = info;
unsigned long const mpi_tool_fortran[4] = {999, NOTHING, NOTHING, NOTHING};
unsigned long const mpi_tool_host[4] = {999, NOTHING, NOTHING, NOTHING};
