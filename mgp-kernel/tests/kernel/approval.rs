//! What is dangerous is done when a human has said so, and then once.

use std::sync::Arc;
use std::time::Duration;

use mgp_types::Error;
use mgp_types::mcp::CallToolResult;
use mgp_types::mgp::Timestamp;
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::host::{Host, Plain, ask, claude, quiet, refused, say, until_listed, with_person};
use crate::runner::tests;
use crate::scripted::{Script, defined, tool};
use crate::sections::raw::ERAS;
use crate::talking;

tests![
    a_human_is_asked_for_each_call_and_sees_what_will_be_sent,
    one_yes_holds_for_all_rounds_of_its_call,
    an_operator_approves_one_call_and_no_other,
    a_model_cannot_approve_for_itself,
    automatic_approval_asks_for_what_is_dangerous_unless_that_is_said_to_be_wanted,
    a_call_whose_costs_need_approval_is_made_when_it_has_it,
    a_tool_that_declares_it_is_confirmed_and_its_question_is_shown,
    a_yes_for_several_calls_is_for_so_many_of_one_agent_and_one_tool,
    a_yes_for_several_calls_ends_with_its_time_and_is_for_no_dangerous_tool,
    a_call_that_was_approved_is_not_made_if_access_or_its_definition_changed_before,
    a_call_that_waits_for_a_person_or_is_refused_says_nothing_of_its_server,
    a_call_that_runs_or_waits_ends_when_access_is_denied_and_the_record_says_why,
];

/// A server whose tools are dangerous; nobody has permitted them for good.
pub(crate) fn dangerous(mut server: Value) -> Value {
    server["security"]["risk_at_least"] = json!("dangerous");
    let mut config = quiet([server]);
    config["confirmation"] = json!({"dangerous": true});
    config["permissions"]["patience_secs"] = json!(3);
    config["agents"] = json!([{"id": "ada", "human": true}, {"id": "robot", "human": false}]);
    config
}

async fn a_human_is_asked_for_each_call_and_sees_what_will_be_sent() {
    let script = Script::named(&["transfer"]);
    let host = Host::ready_with(dangerous(script.server("bank"))).await;
    for revision in ERAS {
        let before = script.calls().len();
        let shown = Arc::<Mutex<Vec<String>>>::default();
        let (showing, mut decisions) = (Arc::clone(&shown), ["approve", "deny", "approve"].into_iter());
        let builder = with_person(claude(revision), move |message| {
            showing.lock().push(message);
            json!({"decision": decisions.next().unwrap()})
        });
        let client = host.connect("ada", builder).await;
        say(&client, "bank.transfer", json!({"a": "10 to bob"})).await;
        // The same call once more is another one.
        refused(client.call_tool("bank.transfer", json!({"a": "10 to bob"})).await);
        say(&client, "bank.transfer", json!({"a": "99 to eve"})).await;
        let shown = shown.lock();
        assert_eq!(shown.len(), 3, "{shown:?}");
        for (message, arguments) in shown.iter().zip(["10 to bob", "10 to bob", "99 to eve"]) {
            assert!(message.contains(arguments) && message.contains("transfer"), "{message}");
        }
        assert_eq!(
            script.calls()[before..],
            [r#"transfer {"a":"10 to bob"}"#, r#"transfer {"a":"99 to eve"}"#]
        );
    }
}

async fn one_yes_holds_for_all_rounds_of_its_call() {
    let host = Host::ready_with(dangerous(talking::server("paint"))).await;
    for revision in ERAS {
        let shown = Arc::<Mutex<Vec<String>>>::default();
        let showing = Arc::clone(&shown);
        let builder = with_person(claude(revision), move |message| {
            let is_of_server = message.starts_with("paint asks this, not mgp.");
            showing.lock().push(message);
            if is_of_server { json!({"colour": "red"}) } else { json!({"decision": "approve"}) }
        });
        let client = host.connect("ada", builder).await;
        for calls in 1..=2 {
            assert_eq!(say(&client, "paint.colour", json!({})).await, "red");
            let shown = shown.lock();
            assert_eq!(shown.len(), calls * 2, "{revision:?}: {shown:?}");
            let last = shown.last().unwrap();
            assert!(last.starts_with("paint asks") && last.ends_with("\n\nWhich colour?"), "{last}");
        }
    }
}

async fn an_operator_approves_one_call_and_no_other() {
    let script = Script::named(&["transfer"]);
    let host = Host::ready_with(dangerous(script.server("bank"))).await;
    let (robot, other, operator) =
        (host.client("robot").await, host.client("other").await, host.operator().await);
    let small = || json!({"a": "10 to bob"});
    let large = || json!({"a": "99 to eve"});
    let calls = async {
        tokio::join!(
            robot.call_tool("bank.transfer", small()).into_future(),
            robot.call_tool("bank.transfer", large()).into_future(),
            other.call_tool("bank.transfer", small()).into_future(),
        )
    };
    let deciding = async {
        let questions = host.questions(3).await;
        let about = |question: &&Value| {
            question["agent_id"] == "robot" && question["message"].as_str().unwrap().contains("10 to bob")
        };
        let question = questions.iter().find(about).unwrap();
        assert_eq!((&question["server_id"], &question["tool_name"]), (&json!("bank"), &json!("transfer")));
        ask(&operator, "kernel/permissions/approve", json!({"id": question["id"]})).await;
        questions
    };
    let ((first, second, third), asked) = tokio::join!(calls, deciding);
    assert!(is_done(&first), "{first:?}");
    refused(second);
    refused(third);
    assert_eq!(script.calls(), [r#"transfer {"a":"10 to bob"}"#]);

    // What nobody answered in time can still be answered, for the same call made again.
    let left = host.questions(2).await;
    let large_one = |question: &&Value| question["message"].as_str().unwrap().contains("99 to eve");
    let late = left.iter().find(large_one).unwrap();
    assert!(asked.iter().any(|question| question["id"] == late["id"]));
    ask(&operator, "kernel/permissions/approve", json!({"id": late["id"]})).await;
    say(&robot, "bank.transfer", large()).await;
    // Each approval was for one call.
    refused(robot.call_tool("bank.transfer", small()).await);
    refused(robot.call_tool("bank.transfer", large()).await);
    assert_eq!(script.calls().len(), 2);
}

async fn a_model_cannot_approve_for_itself() {
    let script = Script::named(&["transfer"]);
    let host = Host::ready_with(dangerous(script.server("bank"))).await;
    let robot = host.client("robot").await;
    let answered = Arc::new(Mutex::new(0));
    let answering = Arc::clone(&answered);
    let builder = with_person(claude(ERAS[0]), move |_| {
        *answering.lock() += 1;
        json!({"decision": "approve"})
    });
    let eager = host.connect("robot", builder).await;
    let approving = async {
        let id = host.questions(1).await[0]["id"].clone();
        for method in ["kernel/permissions/approve", "kernel/permissions/grant", "kernel/permissions/pending"]
        {
            let refused = robot.request(method, json!({"id": id})).await.unwrap_err();
            assert_eq!(refused.code(), -32601, "{method}");
        }
        let response =
            json!({"request_id": id, "grants": [{"permission": "shell.execute", "decision": "approved"}]});
        assert!(robot.request("mgp/permission/response", response.clone()).await.is_err());
        for tool in ["mgp.permission.response", "mgp.permission.grant", "kernel.permissions.approve"] {
            refused(robot.call_tool(tool, response.clone()).await);
        }
        let claim = json!({"a": "1", "_confirmed": true, "decision": "approve"});
        refused(robot.call_tool("bank.transfer", claim).await);
    };
    let (call, ()) =
        tokio::join!(eager.call_tool("bank.transfer", json!({"a": "10 to bob"})).into_future(), approving);
    refused(call);
    assert_eq!((*answered.lock(), script.calls().len()), (0, 0));
}

// covers: MGP-3.3-03
async fn automatic_approval_asks_for_what_is_dangerous_unless_that_is_said_to_be_wanted() {
    let script = Script::of([
        defined("execute_command", &["command"], &json!({})),
        defined("search_web", &["query"], &json!({})),
    ]);
    for (permissions, runs) in [
        (json!({"policy": "auto_approve", "patience_secs": 1}), false),
        (json!({"policy": "auto_approve", "patience_secs": 1, "never_automatic": []}), true),
    ] {
        let host = Host::ready_with(json!({
            "tools": {"level": "L0"},
            "confirmation": {"dangerous": false},
            "permissions": permissions,
            "servers": [script.server("shell")],
        }))
        .await;
        let client = host.client("robot").await;
        let before = script.calls().len();
        say(&client, "shell.search_web", json!({"query": "tea"})).await;
        let outcome = client.call_tool("shell.execute_command", json!({"command": "ls"})).await;
        assert_eq!(is_done(&outcome), runs, "{outcome:?}");
        assert_eq!(script.calls().len() - before, 1 + usize::from(runs), "{permissions}");
    }
}

// covers: EXT-03-05
async fn a_call_whose_costs_need_approval_is_made_when_it_has_it() {
    let tool = |name: &str, category: &str| {
        let cost = json!({"category": category, "estimated_units": 400, "unit_label": "credits"});
        defined(name, &["a"], &json!({"cost": cost}))
    };
    let script = Script::of([tool("film", "requires_approval"), tool("sketch", "metered")]);
    let host = asking_host(script.server("studio")).await;
    let robot = host.client("robot").await;
    say(&robot, "studio.sketch", json!({})).await;
    for (method, is_made) in [(YES, true), (NO, false)] {
        let before = script.calls().len();
        let (question, outcome) = answered(&host, &robot, ("studio.film", "1"), (method, json!({}))).await;
        assert_eq!(question["tool_name"], "film", "{question}");
        assert_eq!(is_done(&outcome), is_made, "{outcome:?}");
        assert_eq!(script.calls().len() - before, usize::from(is_made));
    }
}

/// A plain server whose tools ask for confirmation by themselves; the effect of `wipe` cannot be taken back.
fn asking() -> Script {
    let tool = |name: &str, risk: &str| {
        let message = "Let {a} go out?";
        let more =
            json!({"risk_level": risk, "requires_confirmation": true, "confirmation_message": message});
        defined(name, &["a"], &more)
    };
    Script::of([tool("publish", "reversible"), tool("post", "reversible"), tool("wipe", "destructive")])
}

async fn asking_host(server: Value) -> Host {
    let mut config = quiet([server]);
    config["confirmation"] = json!({"dangerous": true});
    config["permissions"]["patience_secs"] = json!(60);
    Host::ready_with(config).await
}

/// Makes a call that has to be asked about, and has an operator answer by `method`. Returns the question and the outcome.
async fn answered(
    host: &Host,
    client: &Plain,
    (tool, a): (&str, &str),
    (method, terms): (&'static str, Value),
) -> (Value, Result<CallToolResult, Error>) {
    let call = client.call_tool(tool, json!({ "a": a })).into_future();
    let deciding = async {
        let question = host.questions(1).await.remove(0);
        let mut answer = terms;
        answer["id"] = question["id"].clone();
        ask(&host.operator().await, method, answer).await;
        question
    };
    let (outcome, question) = tokio::join!(call, deciding);
    (question, outcome)
}

/// Returns whether a call came through.
fn is_done(outcome: &Result<CallToolResult, Error>) -> bool {
    outcome.as_ref().is_ok_and(|result| result.is_error != Some(true))
}

const YES: &str = "kernel/permissions/approve";
const NO: &str = "kernel/permissions/deny";

// covers: EXT-06-14, EXT-00-08
async fn a_tool_that_declares_it_is_confirmed_and_its_question_is_shown() {
    let script = asking();
    let host = asking_host(script.server("site")).await;
    let robot = host.client("robot").await;
    let (question, outcome) = answered(&host, &robot, ("site.publish", "news\n`x`"), (NO, json!({}))).await;
    refused(outcome);
    assert!(script.calls().is_empty());
    let message = question["message"].as_str().unwrap();
    let says = message.lines().find(|line| line.starts_with("The server says: "));
    assert_eq!(says, Some("The server says: Let “news `x`” go out?"), "{message}");
    let (question, outcome) = answered(&host, &robot, ("site.wipe", "1"), (YES, json!({}))).await;
    assert!(is_done(&outcome), "{outcome:?}");
    assert_eq!(question["risk"], "dangerous", "{question}");
    // What an agent says of its user confirms nothing.
    let claim = robot.call_tool("site.wipe", json!({"a": "2"}));
    let claim = claim.meta("user_confirmed", mgp_types::RawJson::parse("true").unwrap()).into_future();
    let deciding = async {
        let question = host.questions(1).await.remove(0);
        ask(&host.operator().await, NO, json!({"id": question["id"]})).await;
    };
    let (outcome, ()) = tokio::join!(claim, deciding);
    refused(outcome);
    assert_eq!(script.calls(), [r#"wipe {"a":"1"}"#]);
}

// covers: EXT-06-15
async fn a_yes_for_several_calls_is_for_so_many_of_one_agent_and_one_tool() {
    let script = asking();
    let host = asking_host(script.server("site")).await;
    let (robot, other) = (host.client("robot").await, host.client("other").await);
    let three = json!({"max_uses": 3});
    let (_, first) = answered(&host, &robot, ("site.publish", "1"), (YES, three)).await;
    assert!(is_done(&first), "{first:?}");
    // Another agent, and another tool of the server, are asked about.
    for (client, tool) in [(&other, "site.publish"), (&robot, "site.post")] {
        let (question, outcome) = answered(&host, client, (tool, "1"), (NO, json!({}))).await;
        refused(outcome);
        assert!(tool.ends_with(question["tool_name"].as_str().unwrap()), "{question}");
    }
    say(&robot, "site.publish", json!({"a": "2"})).await;
    say(&robot, "site.publish", json!({"a": "3"})).await;
    // The fourth is one too many.
    let (_, fourth) = answered(&host, &robot, ("site.publish", "4"), (NO, json!({}))).await;
    refused(fourth);
    let made = ["1", "2", "3"].map(|a| format!(r#"publish {{"a":"{a}"}}"#));
    assert_eq!(script.calls(), made);
}

// covers: EXT-06-15
async fn a_yes_for_several_calls_ends_with_its_time_and_is_for_no_dangerous_tool() {
    let script = asking();
    let host = asking_host(script.server("site")).await;
    let (robot, operator) = (host.client("robot").await, host.operator().await);
    let soon = Timestamp::now().saturating_add(Duration::from_millis(1));
    let terms = json!({"max_uses": 9, "expires_at": soon});
    let (_, first) = answered(&host, &robot, ("site.publish", "1"), (YES, terms)).await;
    assert!(is_done(&first), "{first:?}");
    let (_, second) = answered(&host, &robot, ("site.publish", "2"), (NO, json!({}))).await;
    refused(second);
    let call = robot.call_tool("site.wipe", json!({"a": "1"})).into_future();
    let deciding = async {
        let id = host.questions(1).await[0]["id"].clone();
        for uses in [0, 2, 5000] {
            let refused = operator.request(YES, json!({"id": id, "max_uses": uses})).await.unwrap_err();
            assert_eq!(refused.code(), -32602, "{refused}");
        }
        ask(&operator, YES, json!({"id": id, "max_uses": 1})).await;
    };
    let (outcome, ()) = tokio::join!(call, deciding);
    assert!(is_done(&outcome), "{outcome:?}");
    assert_eq!(script.calls().len(), 2);
}

async fn a_call_that_was_approved_is_not_made_if_access_or_its_definition_changed_before() {
    let list = |description: &str| {
        let more = json!({"requires_confirmation": true, "description": description});
        let tell = serde_json::from_str(&tool("tell", "Tells.")).unwrap();
        [defined("publish", &["a"], &more), tell].into_iter().collect::<Value>().to_string()
    };
    let deny = json!({
        "agent_id": "robot", "server_id": "site", "tool_name": "publish", "entry_type": "tool_grant",
        "permission": "deny", "justification": "a test",
    });
    for changes_definition in [false, true] {
        let script = Script::new(&list("Publishes a page."));
        let host = asking_host(script.server("site")).await;
        let (robot, other, operator) =
            (host.client("robot").await, host.client("other").await, host.operator().await);
        let call = robot.call_tool("site.publish", json!({"a": "1"})).into_future();
        let deciding = async {
            let question = host.questions(1).await.remove(0);
            if changes_definition {
                script.tools(&list("Publishes a page, and mails it."));
                say(&other, "site.tell", json!({})).await;
                until_listed(&other, |names| !names.contains(&"site.publish".to_owned())).await;
            } else {
                ask(&operator, "mgp/access/grant", deny.clone()).await;
            }
            ask(&operator, YES, json!({"id": question["id"]})).await;
        };
        let (outcome, ()) = tokio::join!(call, deciding);
        let code = outcome.unwrap_err().code();
        assert_eq!(code, if changes_definition { 1010 } else { 1001 });
        assert!(script.calls().iter().all(|call| !call.starts_with("publish")), "{:?}", script.calls());
    }
}

async fn a_call_that_waits_for_a_person_or_is_refused_says_nothing_of_its_server() {
    let script = Script::named(&["transfer"]);
    let host = Host::ready_with(dangerous(script.server("bank"))).await;
    let (robot, operator) = (host.client("robot").await, host.operator().await);
    let counts = async || {
        let servers = ask(&operator, "kernel/servers", json!({})).await;
        let calls = &servers["servers"][0]["calls"];
        (calls["ended"].clone(), calls["failed"].clone(), calls["p95_micros"].clone())
    };
    let denied = async {
        let question = host.questions(1).await.remove(0);
        ask(&operator, "kernel/permissions/deny", json!({"id": question["id"]})).await;
    };
    let (outcome, ()) =
        tokio::join!(robot.call_tool("bank.transfer", json!({"a": "1"})).into_future(), denied);
    refused(outcome);
    // Nobody answers this one in time.
    refused(robot.call_tool("bank.transfer", json!({"a": "2"})).await);
    assert_eq!(counts().await, (json!(0), json!(0), Value::Null));
    let approved = async {
        let questions = host.questions(2).await;
        let question =
            questions.iter().find(|question| question["message"].as_str().unwrap().contains('3')).unwrap();
        ask(&operator, "kernel/permissions/approve", json!({"id": question["id"]})).await;
    };
    let (outcome, ()) =
        tokio::join!(robot.call_tool("bank.transfer", json!({"a": "3"})).into_future(), approved);
    outcome.unwrap();
    let (ended, failed, _) = counts().await;
    assert_eq!((ended, failed), (json!(1), json!(0)));
}

async fn a_call_that_runs_or_waits_ends_when_access_is_denied_and_the_record_says_why() {
    let script = Script::named(&["wait"]);
    let host = Host::ready([script.server("files")]).await;
    let (client, operator) = (host.plain("ada").await, host.operator().await);
    let denied = async {
        crate::host::until("the call runs", || (!script.calls().is_empty()).then_some(())).await;
        let denial = json!({"agent_id": "ada", "server_id": "files", "permission": "deny", "entry_type": "server_grant"});
        ask(&operator, "mgp/access/grant", denial).await;
    };
    let (outcome, ()) = tokio::join!(client.call_tool("files.wait", json!({})).into_future(), denied);
    let said = refused(outcome);
    assert!(said.contains("access was removed while the call was running"), "{said}");
    let recorded = host.recorded(json!({"agent_id": "ada"})).await;
    let last = recorded.last().unwrap();
    assert_eq!(
        (&last["event_type"], &last["details"]["rule"]),
        (&json!("TOOL_BLOCKED"), &json!("withdrawn")),
        "{last}"
    );
    crate::host::until("the server is told", || {
        script.notification_lines().contains("notifications/cancelled").then_some(())
    })
    .await;
}
