//! Code safety (MGP §7): what submitted code may do, decided on its syntax tree.
