//! The program itself, as people and scripts run it.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod advice;
mod alone;
mod asking;
mod audit;
mod background;
mod clients;
mod connecting_again;
mod deciding;
mod doors;
mod doors_with_keys;
mod edit;
mod effects;
mod environment;
mod extensions;
mod files;
mod first_list;
mod following;
mod help;
mod hints;
#[path = "../support/home.rs"]
mod home;
#[path = "../support/http.rs"]
mod http;
mod instances;
#[path = "../support/program.rs"]
mod kernel;
mod keys;
mod listening;
mod models;
mod network;
mod operators;
mod registrations;
mod registry_keys;
mod rows;
mod rules;
mod secrets;
mod service;
mod serving;
mod sharing;
mod specs;
mod web_pages;

/// Returns the name of the user who runs the tests. The system says who that is, and no variable of the environment.
pub(crate) fn user() -> String {
    let own = std::process::Command::new("id").arg("-un").output().unwrap();
    String::from_utf8(own.stdout).unwrap().trim_end().to_owned()
}

/// Returns a server with these tools, as JSON, that runs `call` when one is called, which sets `result`. What it hears it
/// notes beside itself, in the file whose name ends in `.heard`.
pub(crate) fn shell_server(tools: &str, call: &str) -> String {
    format!(
        r#"
while read -r line; do
  printf '%s\n' "$line" >> "$0.heard"
  id=$(printf '%s' "$line" | sed 's/.*"id":\([0-9]*\).*/\1/')
  case "$line" in
    *'"method":"initialize"'*)
      result='{{"protocolVersion":"2025-11-25","capabilities":{{"tools":{{}}}},"serverInfo":{{"name":"shell","version":"1"}}}}' ;;
    *'"method":"tools/list"'*) result='{{"tools":{tools}}}' ;;
    *'"method":"tools/call"'*)
      {call} ;;
    *'"id":'*)
      printf '{{"jsonrpc":"2.0","id":%s,"error":{{"code":-32601,"message":"unknown"}}}}\n' "$id"; continue ;;
    *) continue ;;
  esac
  printf '{{"jsonrpc":"2.0","id":%s,"result":%s}}\n' "$id" "$result"
done
"#
    )
}
