//! Judges inputs one by one: `check --kind KIND` reads JSON lines `{"id", "input"}` and prints, for each,
//! `{"id", "verdict": "allow" | "flag" | "deny", "reason"}`; of the kind `tool_profile`
//! `{"id", "permissions", "risk", "arguments"}`, what the tool is.
//!
//! ```sh
//! echo '{"id":1,"input":"rm -rf ~"}' | cargo run -p mgp-security --all-features --example check -- --kind shell_command
//! ```

use std::error::Error;
use std::io;

use mgp_security::check::InputCheck;

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [flag, kind] = &args[..] else { return Err(usage().into()) };
    if flag != "--kind" {
        return Err(usage().into());
    }
    kind.parse::<InputCheck>()?.judge_rows(io::stdin().lock(), &mut io::stdout().lock())?;
    Ok(())
}

fn usage() -> String {
    format!("usage: check --kind {}", InputCheck::names().collect::<Vec<_>>().join("|"))
}
