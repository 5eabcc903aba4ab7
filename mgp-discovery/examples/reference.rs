//! Prints the reference page of `mgp.toml`, or with `schema` the JSON Schema of it.

#![expect(clippy::print_stdout, reason = "the output is what it is run for")]

use mgp_discovery::config;

fn main() {
    if std::env::args().nth(1).as_deref() == Some("schema") {
        print!("{}", config::schema());
    } else {
        print!("{}", config::reference());
    }
}
