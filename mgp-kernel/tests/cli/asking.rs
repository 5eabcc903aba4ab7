//! What a person has to decide: the one way in which they are asked, and what becomes of it.

use std::io::{BufReader, Read as _, Write as _};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use mgp_client_sdk::{Client, ClientBuilder, StartedTool, Task};
use mgp_types::mcp::task::TaskStatus;
use mgp_types::{BoxedService, Revision};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::home::{Home, Ran};
use crate::kernel::{Kernel, until};
use crate::page::{call as without_proof, with_passphrase};
use crate::people::{
    ERAS, PATIENCE, answering, home_that_needs, home_with_notes, list_notes, listing, plain, starting, text,
};

/// How a client reaches the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Stdio,
    Http,
}

fn ways_and_eras() -> impl Iterator<Item = (Way, Revision)> {
    [Way::Stdio, Way::Http].into_iter().flat_map(|way| ERAS.map(|revision| (way, revision)))
}

/// A person sits in front of the clients of both ways.
const PEOPLE: &str =
    "[[agents]]\nid = \"local-http\"\nhuman = true\n[[agents]]\nid = \"local\"\nstdio = true\nhuman = true\n";

/// A client of the kernel, which runs as long as the second is kept.
async fn connect(home: &Home, way: Way, builder: ClientBuilder) -> (Client, Option<Kernel>) {
    match way {
        Way::Stdio => (starting(home, &["serve", "--foreground"], builder).await, None),
        Way::Http => {
            let (kernel, port) = Kernel::on_http(home);
            let client = builder.connect_http(format!("http://127.0.0.1:{port}/mcp")).await.unwrap().boxed();
            (listing(client).await, Some(kernel))
        }
    }
}

async fn remove(client: &Client, number: usize) -> String {
    text(&client.call_tool("notes__remove_note", json!({ "number": number })).await.unwrap())
}

/// What the tool says when its call came through.
fn came_through(text: &str) -> bool {
    text.contains("there is no note")
}

/// The id in the words in which everybody is told what waits.
fn id(text: &str) -> String {
    assert!(text.contains("waiting for approval"), "{text}");
    let (_, rest) = text.split_once("mgp permissions approve ").unwrap_or_else(|| panic!("{text}"));
    rest.chars().take_while(char::is_ascii_alphanumeric).collect()
}

fn pending(home: &Home) -> Vec<Value> {
    home.json(["permissions", "pending"])["questions"].as_array().unwrap().clone()
}

/// Removes a note, and has an operator approve that when they are asked.
async fn remove_approved(home: &Home, client: &Client, number: usize) -> String {
    // On a task of its own: commands are waited for here.
    let call =
        tokio::spawn(client.call_tool("notes__remove_note", json!({ "number": number })).into_future());
    let end = Instant::now() + PATIENCE;
    loop {
        if let [question] = &pending(home)[..] {
            approve(home, question["id"].as_str().unwrap());
            break;
        }
        assert!(!call.is_finished(), "it did not wait: {:?}", call.await);
        assert!(Instant::now() < end, "nobody is asked: {:?}", pending(home));
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    text(&call.await.unwrap().unwrap())
}

fn approve(home: &Home, id: &str) {
    home.done(["permissions", "approve", id]);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_elicitation_the_question_waits_and_the_repeated_call_passes_once_it_is_approved() {
    for (way, revision) in ways_and_eras() {
        // With and without a person in front of the client, who cannot be asked there.
        for people in ["", PEOPLE] {
            let home = home_with_notes(&format!("{people}[permissions]\npatience_secs = 0\n"));
            let (client, _kernel) = connect(&home, way, plain(revision)).await;
            let asked = id(&remove(&client, 1).await);
            assert_eq!(id(&remove(&client, 1).await), asked, "what is repeated is the same question");
            assert_eq!(pending(&home).len(), 1);
            assert_ne!(id(&remove(&client, 2).await), asked);
            approve(&home, &asked);
            assert!(came_through(&remove(&client, 1).await), "{way:?} {revision:?}");
            // The yes was for one such call.
            assert_ne!(id(&remove(&client, 1).await), asked);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_is_none_is_no_denial_and_the_question_goes_on() {
    let answers = [
        json!({"action": "cancel"}),
        json!({"action": "accept"}),
        json!({"action": "accept", "content": {"decision": 7}}),
        json!({"action": "accept", "content": {"choice": "approve"}}),
    ];
    for (way, revision) in ways_and_eras() {
        let home = home_with_notes(PEOPLE);
        let (client, _kernel) = connect(&home, way, answering(revision, &answers).0).await;
        for number in 1..=answers.len() {
            let reply = remove_approved(&home, &client, number).await;
            assert!(came_through(&reply), "{way:?} {revision:?} {number}: {reply}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_declined_permission_is_shown_with_its_end_and_asked_about_again_after_a_reset() {
    for revision in ERAS {
        let home = home_that_needs(PEOPLE);
        let (builder, asked) = answering(revision, &[json!({"action": "decline"})]);
        let (client, _kernel) = connect(&home, Way::Stdio, builder).await;
        for _ in 0..2 {
            let reply = text(&list_notes(&client).await);
            assert!(reply.contains("denied until") && reply.contains("mgp permissions reset"), "{reply}");
        }
        assert_eq!(asked.lock().len(), 1, "nobody is asked again meanwhile");
        let shown = home.json(["permissions", "show", "notes"]);
        let row = &shown["grants"][0];
        assert_eq!(
            (&row["decision"], &row["agent_id"]),
            (&json!("denied"), &json!("local/claude-code")),
            "{shown}"
        );
        assert!(row["expires_at"].is_string(), "{shown}");
        home.done(["permissions", "reset", "notes", "memory.write"]);
        list_notes(&client).await;
        assert_eq!(asked.lock().len(), 2);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_asked_for_progress_hears_what_the_call_waits_for() {
    for (way, revision) in ways_and_eras() {
        let home = home_with_notes("");
        let (client, _kernel) = connect(&home, way, plain(revision)).await;
        let (tell, mut messages) = tokio::sync::mpsc::unbounded_channel();
        let call = client.call_tool("notes__remove_note", json!({"number": 1})).on_progress(move |report| {
            let _ = tell.send(report.message.unwrap_or_default());
        });
        let deciding = async {
            // It may hear first that the server starts.
            let waits = loop {
                let message = messages.recv().await.unwrap();
                if message.starts_with("waiting for approval: mgp permissions approve ") {
                    break message;
                }
            };
            approve(&home, &id(&waits));
        };
        let (result, ()) = tokio::join!(call.into_future(), deciding);
        assert!(came_through(&text(&result.unwrap())), "{way:?} {revision:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_no_to_a_call_is_shown_and_holds_for_the_same_call_until_it_is_reset() {
    let home = home_with_notes("[permissions]\npatience_secs = 0\n");
    let (client, _kernel) = connect(&home, Way::Stdio, plain(ERAS[0])).await;
    let asked = id(&remove(&client, 1).await);
    home.done(["permissions", "deny", &asked, "--for", "2h"]);
    for _ in 0..2 {
        let reply = remove(&client, 1).await;
        assert!(reply.contains("did not confirm") && reply.contains("until"), "{reply}");
    }
    let shown = home.run(["permissions", "show", &asked]);
    assert!(shown.out.contains("denied by") && shown.out.contains("mgp permissions reset"), "{shown:?}");
    assert!(pending(&home).is_empty());
    home.done(["permissions", "reset", &asked]);
    assert_ne!(id(&remove(&client, 1).await), asked);
}

/// Removes the first note, and returns the task as which the call waits.
async fn begin_removing(client: &Client) -> Task<BoxedService> {
    match client.start_tool("notes__remove_note", json!({"number": 1})).await.unwrap() {
        StartedTool::Task(task) => task,
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_of_a_client_that_handles_tasks_waits_as_a_task_and_ends_as_the_call() {
    for way in [Way::Stdio, Way::Http] {
        let home = home_with_notes("[ui]\nenabled = true\n");
        let (client, _kernel) = connect(&home, way, plain(ERAS[1]).tasks()).await;
        for (decision, outcome) in [("approve", "there is no note"), ("deny", "did not confirm")] {
            let task = begin_removing(&client).await;
            let waits_for = task.state().await.unwrap().message.unwrap();
            let asked = id(&waits_for);
            assert!(waits_for.ends_with(&format!("/questions/{asked}")), "{waits_for}");
            home.done(["permissions", decision, &asked]);
            let reply = text(&task.wait().await.unwrap());
            assert!(reply.contains(outcome), "{way:?} {decision}: {reply}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_task_leaves_its_question_to_operators() {
    let home = home_with_notes("");
    let (client, _kernel) = connect(&home, Way::Http, plain(ERAS[1]).tasks()).await;
    let task = begin_removing(&client).await;
    let asked = id(&task.state().await.unwrap().message.unwrap());
    task.cancel().await.unwrap();
    assert_eq!(task.state().await.unwrap().status, TaskStatus::Cancelled);
    approve(&home, &asked);
    assert!(came_through(&remove(&client, 1).await));
}

/// A command at a terminal of its own.
struct AtTerminal {
    child: Child,
    stdout: BufReader<std::process::ChildStdout>,
}

impl AtTerminal {
    fn run(home: &Home, line: &str) -> Self {
        Self::begin(Self::command(home, line))
    }

    fn command(home: &Home, line: &str) -> Command {
        let of_home = home.command(["--version"]);
        let mut command = Command::new("script");
        command.args(["-qec", &format!("{} {line}", env!("CARGO_BIN_EXE_mgp")), "/dev/null"]);
        command.env_clear().current_dir(home.path(""));
        command.envs(of_home.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command
    }

    fn begin(mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        Self { child, stdout }
    }

    /// Reads until this is told.
    fn tells(&mut self, what: &str) -> String {
        let mut output = Vec::new();
        while !String::from_utf8_lossy(&output).contains(what) {
            let mut byte = [0];
            let read = self.stdout.read(&mut byte).unwrap();
            assert!(read == 1, "`{what}` is not told: {}", String::from_utf8_lossy(&output));
            output.push(byte[0]);
        }
        String::from_utf8_lossy(&output).into_owned()
    }

    fn types(&mut self, line: &str) {
        writeln!(self.child.stdin.as_mut().unwrap(), "{line}").unwrap();
    }

    fn ended(mut self) -> Ran {
        let mut out = String::new();
        self.stdout.read_to_string(&mut out).unwrap();
        Ran { code: self.child.wait().unwrap().code(), out, err: String::new() }
    }
}

/// Homes without a kernel, and with one that runs.
fn alone_and_running() -> [(Home, Option<Kernel>); 2] {
    let (alone, running) = (home_with_notes(""), home_with_notes(""));
    let (kernel, _) = Kernel::on_http(&running);
    until("the server comes", || running.run(["tools"]).out.contains("notes.remove_note"));
    [(alone, None), (running, Some(kernel))]
}

#[test]
fn at_a_terminal_a_call_asks_by_itself() {
    for (home, kernel) in alone_and_running() {
        for (answer, code) in [("remove_note", 5), ("y", 3), ("N", 3), ("", 3)] {
            let mut call = AtTerminal::run(&home, "call notes.remove_note number=1");
            let asked = call.tells("to deny it:");
            assert!(asked.contains("remove_note") && asked.contains("number"), "{asked}");
            call.types(answer);
            let ran = call.ended();
            // The note that is to go is not there, so the tool fails when it is called.
            assert_eq!(ran.code, Some(code), "{answer}: {ran:?}");
            assert_eq!(came_through(&ran.out), code == 5, "{answer}: {ran:?}");
            assert!(pending(&home).is_empty(), "{}", kernel.is_some());
        }
    }
}

#[test]
fn at_a_terminal_a_call_is_denied_without_a_passphrase() {
    for (home, _kernel) in alone_and_running() {
        for answer in ["", "n", "y"] {
            let mut command = AtTerminal::command(&home, "call notes.remove_note number=1");
            command.env_remove("MGP_OPERATORS_TOKEN");
            let mut call = AtTerminal::begin(command);
            call.tells("to deny it:");
            call.types(answer);
            let ran = call.ended();
            assert!(ran.code == Some(3) && ran.out.contains("you denied the call"), "{answer}: {ran:?}");
            assert!(!ran.out.contains("assphrase"), "{answer}: {ran:?}");
            assert!(pending(&home).is_empty(), "the next call asks again");
        }
    }
}

#[test]
fn whoever_adds_a_server_at_a_terminal_is_offered_a_passphrase_and_may_skip_it() {
    let home = Home::with_state();
    home.write("state/operators.json", "{}");
    let decides = || home.command(["keys", "new", "ada"]).env_remove("MGP_OPERATORS_TOKEN").output().unwrap();
    let mut skipping = AtTerminal::run(&home, "add one -- true");
    skipping.tells("press Enter to skip");
    skipping.types("");
    let ran = skipping.ended();
    assert!(ran.code == Some(0) && ran.out.contains("mgp operators passphrase"), "{ran:?}");
    let mut setting = AtTerminal::run(&home, "add other -- true");
    setting.tells("press Enter to skip");
    setting.types("correct horse");
    setting.tells("again:");
    setting.types("correct horse");
    assert_eq!(setting.ended().code, Some(0));
    let told = String::from_utf8(decides().stderr).unwrap();
    assert!(told.contains("this needs the operator passphrase") || told.contains("operator token"), "{told}");
    assert!(!home.run(["add", "third", "--", "true"]).out.contains("press Enter"), "no terminal");
}

#[test]
fn a_call_that_is_approved_with_the_passphrase_asks_once_and_uses_the_yes_up() {
    for (home, _kernel) in alone_and_running() {
        with_passphrase(&home);
        // The shell stays there, so the passphrase holds for its terminal from then on.
        let mut command = AtTerminal::command(&home, "call notes.remove_note number=1; exit $?");
        command.env_remove("MGP_OPERATORS_TOKEN");
        let mut call = AtTerminal::begin(command);
        call.tells("to deny it:");
        call.types("remove_note");
        call.tells("passphrase:");
        call.types("correct horse");
        let ran = call.ended();
        assert!(ran.code == Some(5) && came_through(&ran.out), "{ran:?}");
        assert!(!ran.out.contains("to deny it:"), "{ran:?}");
        assert_eq!(without_proof(&home).code, Some(6), "the yes was for one call");
    }
}

#[test]
fn what_was_typed_before_a_question_stood_there_is_no_answer_to_it() {
    let [_, (home, _kernel)] = alone_and_running();
    let mut watch = AtTerminal::run(&home, "permissions watch");
    watch.tells("as they come");
    watch.types("remove_note");
    // The terminal has it, and shows it.
    watch.tells("remove_note");
    assert_eq!(home.run(["call", "notes.remove_note", "number=1"]).code, Some(6));
    watch.tells("to deny it:");
    watch.types("");
    watch.tells("denied");
    assert_eq!(home.run(["call", "notes.remove_note", "number=1"]).code, Some(3));
    watch.child.kill().unwrap();
    watch.child.wait().unwrap();
}

#[test]
fn without_a_terminal_a_call_ends_at_once_and_says_who_waits_for_what() {
    for (home, _kernel) in alone_and_running() {
        let call = || home.run(["call", "notes.remove_note", "number=1"]);
        let ran = call();
        assert_eq!(ran.code, Some(6), "{ran:?}");
        let asked = id(&ran.err);
        assert_eq!(id(&call().err), asked);
        approve(&home, &asked);
        let ran = call();
        assert!(ran.code == Some(5) && came_through(&ran.out), "{ran:?}");
        assert_eq!(call().code, Some(6), "the yes was for one call");
    }
}

#[test]
fn a_rule_says_about_which_calls_a_person_is_asked() {
    for (home, kernel) in alone_and_running() {
        let code = || home.run(["call", "notes.remove_note", "number=1"]).code;
        let rule = |words: &[&str]| {
            let ran = home.run(["ask"].iter().chain(words).copied());
            assert_eq!(ran.code, Some(0), "{words:?}: {ran:?}");
            if kernel.is_some() {
                home.done(["reload"]);
            }
        };
        assert_eq!(code(), Some(6), "it waits for a person");
        let endless = home.run(["permissions", "approve", "--always"]);
        assert!(
            endless.code == Some(1) && endless.err.contains("mgp ask never notes.remove_note"),
            "{endless:?}"
        );
        rule(&["never", "notes.remove_note"]);
        assert_eq!(code(), Some(5), "it came through: there is no such note");
        rule(&["always", "notes.*", "--effect", "destroys"]);
        assert_eq!(code(), Some(5), "the narrower tool decides");
        rule(&["refuse", "notes.remove_note", "--effect", "destroys"]);
        assert_eq!(code(), Some(3), "the rule for the effect is narrower yet");
        let rules = home.json(["ask", "list"])["rules"].clone();
        assert_eq!(rules.as_array().map(Vec::len), Some(3), "{rules}");
        rule(&["forget", "notes.remove_note", "--effect", "destroys"]);
        rule(&["never", "notes.remove_note", "--agent", "somebody"]);
        assert_eq!(code(), Some(5));
        rule(&["forget", "notes.remove_note"]);
        assert_eq!(code(), Some(6), "the rule for another agent is about nobody here");
        let ran = home.run(["ask", "forget", "notes.remove_note"]);
        assert!(ran.code == Some(1) && ran.err.contains("mgp ask list"), "{ran:?}");
    }
}

#[test]
fn what_each_rule_answers_to_a_call_is_told_and_the_call_is_not_made() {
    for (home, _kernel) in alone_and_running() {
        let explained = |arguments: &[&str]| {
            let words = ["call", "notes.remove_note", "number=1", "--explain"];
            home.json(words.iter().chain(arguments).copied())
        };
        let told = explained(&[]);
        assert_eq!(told["verdict"], "asks", "{told}");
        let rules = told["rules"].as_array().unwrap().iter();
        let rules: Vec<_> = rules.map(|asked| (asked["rule"].as_str().unwrap(), &asked["answer"])).collect();
        let names: Vec<_> = rules.iter().map(|(name, _)| *name).collect();
        let order = ["access", "scopes", "limits", "budget", "definition", "arguments", "ask rules"];
        assert_eq!(names, [&order[..], &["permissions", "confirmation"]].concat());
        assert_eq!(rules.last().unwrap().1, "asks", "{told}");
        assert!(told["rules"][5]["reason"].as_str().unwrap().contains("destroys"), "{told}");
        assert!(pending(&home).is_empty(), "nobody is asked");
        home.done(["access", "deny", "somebody", "notes.remove_note"]);
        let told = explained(&["--agent", "somebody"]);
        assert_eq!((&told["verdict"], &told["rules"][0]["answer"]), (&"refuses".into(), &"refuses".into()));
        let ran = home.run(["call", "notes.remove_note", "--args", "{}", "--explain"]);
        assert!(ran.code == Some(0) && ran.out.contains("refuses it"), "{ran:?}");
    }
}

#[test]
fn whoever_watches_is_asked_as_questions_come() {
    let [_, (home, _kernel)] = alone_and_running();
    let ran = home.run(["watch"]);
    assert!(ran.code == Some(1) && ran.err.contains("needs a terminal"), "{ran:?}");
    let mut watch = AtTerminal::run(&home, "watch");
    watch.tells("as they come");
    let ran = home.run(["call", "notes.remove_note", "number=1"]);
    assert_eq!(ran.code, Some(6), "{ran:?}");
    watch.tells("to deny it:");
    watch.types("remove_note");
    watch.tells("approved");
    let ran = home.run(["call", "notes.remove_note", "number=1"]);
    assert!(came_through(&ran.out), "{ran:?}");
    watch.child.kill().unwrap();
    watch.child.wait().unwrap();
}
