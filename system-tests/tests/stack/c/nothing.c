/* A shared object that is no tool. */
int nothing;
