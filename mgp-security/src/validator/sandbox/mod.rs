//! What a shell command may do, decided on its syntax tree and argument vectors.
