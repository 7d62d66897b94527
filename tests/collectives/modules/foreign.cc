// A shared object of the right name that is no module.
int plumbline_nothing();
int plumbline_nothing() { return 0; }
