//! The program `mgp`.

fn main() {}
