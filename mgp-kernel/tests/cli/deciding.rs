//! The commands by which a person decides: what they are typed with, and what they show afterwards.

use serde_json::{Value, json};

use crate::home::Home;
use crate::kernel::{Kernel, Talk, until};
use crate::shell_servers::shell_server;

/// The tool of a server that speaks no MGP and notes what it is told.
const TOOLS: &str = r#"[{"name":"say","description":"Says a text.","inputSchema":{"type":"object","properties":{"text":{"type":"string"}}}}]"#;

/// A user with that server; `lines` stand in its table. Nobody sits in front of clients, and calls do not wait.
fn home(lines: &str) -> Home {
    let call = r#"result='{"content":[{"type":"text","text":"said"}]}'"#;
    let settings = "[permissions]\npatience_secs = 0\n[[agents]]\nid = \"local\"\nhuman = false\n";
    Home::with_script("plain", &shell_server(TOOLS, call), settings, lines)
}

const NEEDS: &str = "security = { permissions = [\"memory.write\"] }";

fn client(home: &Home) -> (Kernel, Talk) {
    let (kernel, mut talk) = Talk::begin(home);
    until("the server comes", || talk.ask("tools/list", &json!({})).to_string().contains("plain__say"));
    (kernel, talk)
}

/// Calls the tool, and returns what the client gets.
fn say(talk: &mut Talk, text: &str) -> String {
    talk.ask("tools/call", &json!({"name": "plain__say", "arguments": {"text": text}})).to_string()
}

fn ids(home: &Home) -> Vec<String> {
    let pending = home.json(["permissions", "pending"]);
    let questions = pending["questions"].as_array().unwrap().iter();
    questions.map(|question| question["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_question_is_decided_by_a_short_id_or_by_its_beginning_or_without_one_where_it_is_the_only_one() {
    let home = home(NEEDS);
    let (_kernel, mut talk) = client(&home);
    let none = home.run(["permissions", "approve"]);
    assert!(none.code == Some(1) && none.err.contains("no question waits"), "{none:?}");
    assert!(say(&mut talk, "the first text").contains("mgp permissions approve"));
    let first = ids(&home).remove(0);
    assert!(first.len() <= 6, "{first}");
    let ran = home.run(["permissions", "approve", "--once"]);
    assert!(ran.code == Some(0) && ran.err.contains("the first text"), "what is approved is shown: {ran:?}");
    assert!(say(&mut talk, "the first text").contains("said"));
    // Calls until two ids begin with the same letter.
    let shared = (0..).find_map(|number: u32| {
        say(&mut talk, &number.to_string());
        let all = ids(&home);
        let begins = |id: &&String| all.iter().filter(|other| other[..1] == id[..1]).count() > 1;
        all.iter().find(begins).cloned()
    });
    let shared = shared.unwrap();
    let same: Vec<_> = ids(&home).into_iter().filter(|id| id[..1] == shared[..1]).collect();
    let ran = home.run(["permissions", "deny", &shared[..1]]);
    assert!(ran.code == Some(1) && same.iter().all(|id| ran.err.contains(&**id)), "{same:?}: {ran:?}");
    let several = home.run(["permissions", "deny"]);
    assert!(
        several.code == Some(1) && ids(&home).iter().all(|id| several.err.contains(&**id)),
        "{several:?}"
    );
    let is_beginning = |word: &&str| same.iter().filter(|id| id.starts_with(*word)).count() == 1;
    let word = [&shared[..2], &shared[..3], &*shared].into_iter().find(is_beginning).unwrap();
    home.done(["permissions", "deny", word, "--for", "2h"]);
    assert!(!ids(&home).contains(&shared), "{word}");
}

#[test]
fn the_first_answer_to_a_question_counts_and_the_next_operator_hears_who_gave_it() {
    let home = home("security = { risk_at_least = \"dangerous\" }");
    let (_kernel, mut talk) = client(&home);
    for (first, next, told, outcome) in [
        ("approve", "deny", "has approved this already", "said"),
        ("deny", "approve", "has denied this already", "until"),
    ] {
        say(&mut talk, first);
        let id = ids(&home).remove(0);
        home.done(["permissions", first, &id]);
        for again in [next, first] {
            let ran = home.run(["permissions", again, &id]);
            assert!(ran.code == Some(1) && ran.err.contains(told), "{again}: {ran:?}");
        }
        assert!(say(&mut talk, first).contains(outcome), "{first}");
        // Whoever comes once the call was made hears it as well.
        let late = home.run(["permissions", next, &id]);
        assert!(late.code == Some(1) && late.err.contains(told), "{late:?}");
    }
}

#[test]
fn a_denied_permission_is_shown_and_forgotten_by_the_id_of_its_question_as_a_denied_call_is() {
    let needing = home(NEEDS);
    let confirming = home("security = { risk_at_least = \"dangerous\" }");
    for home in [needing, confirming] {
        let (kernel, mut talk) = client(&home);
        say(&mut talk, "one");
        let id = ids(&home).remove(0);
        home.done(["permissions", "deny", &id, "--for", "8h"]);
        assert!(say(&mut talk, "one").contains("until"), "the denial stands");
        for _kernel in [Some((kernel, talk)), None] {
            let shown = home.run(["permissions", "show", &id]);
            assert!(shown.code == Some(0) && shown.out.contains("denied"), "{shown:?}");
        }
        let ran = home.run(["permissions", "reset", &id]);
        assert!(ran.code == Some(0) && ran.out.contains("reset"), "{ran:?}");
        assert!(home.run(["permissions", "reset", &id]).out.contains("no decision"), "it is forgotten once");
        assert_eq!(home.json(["permissions", "list"])["grants"], json!([]));
    }
}

#[test]
fn a_call_that_is_approved_with_other_arguments_is_made_with_these_by_all_rules() {
    let home = home("security = { risk_at_least = \"dangerous\" }");
    let (_kernel, mut talk) = client(&home);
    let edit = |talk: &mut Talk, arguments: &str| {
        say(talk, "the asked text");
        let id = ids(&home).remove(0);
        assert_eq!(home.run(["permissions", "approve", &id, "--arguments", "null"]).code, Some(1));
        home.done(["permissions", "approve", &id, "--arguments", arguments]);
        let shown = home.run(["permissions", "show", &id]);
        assert!(shown.out.contains("these arguments instead"), "{shown:?}");
        say(talk, "the asked text")
    };
    let refused = edit(&mut talk, r#"{"text":"http://169.254.169.254/latest"}"#);
    assert!(refused.contains("changed the arguments") && !refused.contains("said"), "{refused}");
    let made = edit(&mut talk, r#"{"text":"the edited text"}"#);
    assert!(made.contains("said") && made.contains("dev.cloto/mgp/edited_arguments"), "{made}");
    let heard = home.read("plain.sh.heard");
    assert!(heard.contains("the edited text") && !heard.contains("the asked text"), "{heard}");
    assert!(!heard.contains("169.254"), "{heard}");
    let events = home.json(["audit", "query"]);
    let both = |kind: &str| {
        let events = events["events"].as_array().unwrap().iter();
        let of_kind = events.filter(|row| row["event"]["event_type"] == kind);
        let last = of_kind.max_by_key(|row| row["seq"].as_u64()).unwrap_or_else(|| panic!("{kind}"));
        ["asked", "edited"].map(|which| last["event"]["details"][format!("{which}_arguments_digest")].clone())
    };
    let decided = both("dev.cloto.mgp.call_edited");
    assert!(decided[0].is_string() && decided[0] != decided[1], "{decided:?}");
    assert_eq!(both("TOOL_EXECUTED"), decided);
}

#[test]
fn the_list_shows_what_holds_and_what_waits_and_nothing_of_clients_that_are_gone() {
    let home = home(NEEDS);
    let mut kernel = Kernel::start(&home, &["--http", "127.0.0.1:0", "--no-stdio"]);
    let mut joined = Kernel::spawn(&home, &[]);
    let mut talk = Talk::open(&mut joined);
    until("the server comes", || talk.ask("tools/list", &json!({})).to_string().contains("plain__say"));
    say(&mut talk, "one");
    home.done(["permissions", "approve"]);
    // The yes waits for its call, and is used by it.
    let list = |name: &str| home.json(["permissions", "list"])[name].clone();
    assert_eq!(list("waiting")[0]["decision"], "approved", "{}", list("waiting"));
    assert!(home.run(["permissions", "list"]).out.contains("or its call"));
    assert!(say(&mut talk, "one").contains("said"));
    assert_eq!(list("waiting"), Value::Null);
    assert_eq!(list("grants")[0]["lasts"], "session", "{}", list("grants"));
    drop(talk);
    assert_eq!(joined.ended(), Some(0));
    until("the grant ends with its session", || list("grants") == json!([]));
    kernel.signal("TERM");
    assert_eq!(kernel.ended(), Some(0));
}

#[test]
fn all_mistakes_in_the_names_of_a_decision_are_told_at_once() {
    let home = home("");
    for (args, meant) in [
        (
            &["approve", "plian", "filesytem.read", "--agent", "lokal"][..],
            "mgp permissions approve plain filesystem.read --agent local",
        ),
        (&["approve", "plain", "memory.write", "--agent", "lokal"], "memory.write --agent local"),
        (&["approve", "plain", "filesytem.read"], "filesystem.read --agent AGENT`, or `--all-agents"),
        (&["approve", "plain", "memory.write"], "memory.write --agent AGENT`, or `--all-agents"),
        (&["approve", "plian", "memory.write", "--all-agents"], "plain memory.write --all-agents"),
        (&["deny", "plian", "filesytem.read", "--agent", "lokal"], "plain filesystem.read --agent local"),
    ] {
        let ran = home.run(["permissions"].iter().chain(args));
        assert!(ran.code == Some(1) && ran.err.contains(&format!("{meant}`?")), "{args:?}: {ran:?}");
        assert_eq!(ran.err.matches("did you mean").count(), 1, "{args:?}: {ran:?}");
    }
    let ran = home.run(["permissions", "approve", "plain", "filesytem.read"]);
    assert!(ran.err.contains("no agent is named") && ran.err.contains("`filesytem.read`"), "{ran:?}");
    let ran = home.run(["permissions", "approve", "other", "memory.write", "--all-agents"]);
    assert!(ran.code == Some(1) && ran.err.contains("`mgp servers` shows the servers"), "{ran:?}");
    let lokal = ["permissions", "approve", "plain", "memory.write", "--agent", "lokal"];
    assert!(home.run(lokal).err.contains("no agent `lokal` is known"));
    home.done(lokal.iter().chain(&["--force"]));
    // An agent of a name like no other may come later.
    let ada = ["permissions", "approve", "plain", "memory.write", "--agent", "agent.ada"];
    home.done(ada);
}

#[test]
fn a_server_without_mgp_does_not_hear_how_long_a_call_may_wait_for_people() {
    let home = home("");
    let (_kernel, mut talk) = client(&home);
    home.done(["call", "plain.say", "text=hello"]);
    let options = json!({"approval_wait_ms": 0, "stream": true, "deadline_ms": 60_000, "x": 1});
    let call = json!({"name": "plain__say", "arguments": {"text": "more"}, "_mgp": options});
    assert!(talk.ask("tools/call", &call).to_string().contains("said"));
    let heard = home.read("plain.sh.heard");
    assert!(heard.contains("hello") && heard.contains("more"), "{heard}");
    assert!(!heard.contains("approval_wait_ms") && !heard.contains("deadline_ms"), "{heard}");
}
