//! What has to work, or the attacks would prove nothing: the same server, called honestly.

use serde_json::json;

use crate::home::Home;
use crate::kernel::{Kernel, Talk};
use crate::runner::tests;
use crate::server;

tests![an_honest_call_comes_through,];

async fn an_honest_call_comes_through() {
    let home = Home::with_state();
    let server = server::configured(&home, "honest", "");
    home.write("mgp.toml", &format!("{}{server}", home.read("mgp.toml")));
    let mut kernel = Kernel::start(&home, &[]);
    let mut talk = Talk::open(&mut kernel);
    let answer = talk.ask("tools/call", &json!({"name": "honest.echo", "arguments": {"text": "hello"}}));
    assert_ne!(answer["result"]["isError"], true, "{answer}");
    assert_eq!(server::calls(&home, "honest"), ["echo"]);
}
