/* LEVELS jumps through one contiguous table, for MPI_Comm_rank: the least that so many levels can
 * take. */
#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)

__asm__(".text\n"
        ".globl MPI_Comm_rank\n"
        ".type MPI_Comm_rank, @function\n"
        "MPI_Comm_rank:\n"
        ".set level, 0\n"
        ".rept " TEXT(LEVELS) "\n"
        "jmp *table + 8 * level(%rip)\n"
        ".balign 8\n"
        ".set level, level + 1\n"
        ".endr\n"
        /* Each jump has 8 bytes, and leads to the next. */
        ".data\n"
        ".balign 64\n"
        "table:\n"
        ".set level, 1\n"
        ".rept " TEXT(LEVELS) " - 1\n"
        ".quad MPI_Comm_rank_begin + 8 * level\n"
        ".set level, level + 1\n"
        ".endr\n"
        ".quad PMPI_Comm_rank\n"
        ".set MPI_Comm_rank_begin, MPI_Comm_rank\n"
        ".text\n");
