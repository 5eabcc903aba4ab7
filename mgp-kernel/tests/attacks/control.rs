//! What has to work, or the attacks would prove nothing: the same server, called honestly.

use serde_json::json;

use crate::home::Home;
use crate::kernel::Talk;
use crate::runner::tests;
use crate::server;

tests![an_honest_call_comes_through,];

async fn an_honest_call_comes_through() {
    let home = Home::with_state();
    let server = server::configured(&home, "honest", "");
    home.configure(&server);
    let (_kernel, mut talk) = Talk::begin(&home);
    let answer = talk.ask("tools/call", &json!({"name": "honest.echo", "arguments": {"text": "hello"}}));
    assert_ne!(answer["result"]["isError"], true, "{answer}");
    assert_eq!(server::calls(&home, "honest"), ["echo"]);
}
