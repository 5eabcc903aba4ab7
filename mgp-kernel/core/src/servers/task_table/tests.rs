//! Tests of the table of tasks.

use mgp_types::Revision;

use super::*;

/// A server that goes on without the kernel.
fn remote(server: &str) -> Arc<TaskPlace> {
    place(server, r#"{"url":"http://127.0.0.1:9/mcp"}"#)
}

fn place(server: &str, config: &str) -> Arc<TaskPlace> {
    let config = serde_json::from_str(&config.replace('{', &format!(r#"{{"id":"{server}","#))).unwrap();
    Arc::new(TaskPlace::of(&server.into(), &config))
}

/// Has a caller learn of what its call began, and returns the result as the caller sees it.
fn learned(tasks: &TaskTable, owner: &Principal, place: &Arc<TaskPlace>, result: &str) -> String {
    let mut response = Response::new(RawJson::parse(result.to_owned()).unwrap());
    tasks.learn(place, owner, &mut response, || None);
    String::from_utf8(response.result.as_bytes().to_vec()).unwrap()
}

fn status(task: &str, status: &str) -> Object {
    Object::parse(format!(r#"{{"taskId":"{task}","status":"{status}"}}"#)).unwrap()
}

fn key(place: &Arc<TaskPlace>, own: &str) -> TaskKey {
    TaskKey { place: Arc::clone(place), own: own.into() }
}

#[test]
fn a_task_is_learned_from_the_answers_of_both_eras_and_only_for_its_principal() {
    let tasks = TaskTable::default();
    let (one, other) = (Principal::new("one"), Principal::new("other"));
    let (a, b) = (remote("a"), remote("b"));
    for (place, result) in [
        (&a, r#"{"task":{"taskId":"x"}}"#),
        (&b, r#"{"resultType":"task","taskId":"y"}"#),
        (&b, r#"{"content":[{"text":"taskId"}]}"#),
    ] {
        assert_eq!(learned(&tasks, &one, place, result), result);
    }
    assert_eq!((tasks.find(&one, "x"), tasks.find(&one, "y")), (Some(key(&a, "x")), Some(key(&b, "y"))));
    assert_eq!(tasks.find(&other, "x"), None);
    // The first principal that was told of it keeps it.
    learned(&tasks, &other, &a, r#"{"taskId":"x"}"#);
    assert_eq!(tasks.find(&other, "x"), None);
    assert_eq!(tasks.hear(&a, &mut status("x", "working")), Some(one));
    let long = "x".repeat(LONGEST_ID + 1);
    learned(&tasks, &other, &a, &format!(r#"{{"taskId":"{long}"}}"#));
    assert_eq!(tasks.find(&other, &long), None);
}

#[test]
fn of_two_tasks_of_one_id_the_later_has_its_server_in_front() {
    let tasks = TaskTable::default();
    let (one, other) = (Principal::new("one"), Principal::new("other"));
    let [a, b, c, d] = ["a", "b", "c", "d"].map(remote);
    let of_session = r#"{"task":{"taskId":"1","status":"working"}}"#;
    let stateless = r#"{"resultType":"task","taskId":"1"}"#;
    assert_eq!(learned(&tasks, &one, &a, of_session), of_session);
    for _ in 0..2 {
        let renamed = r#"{"task":{"taskId":"b/1","status":"working"}}"#;
        assert_eq!(learned(&tasks, &one, &b, of_session), renamed);
    }
    assert_eq!(learned(&tasks, &one, &c, stateless), r#"{"resultType":"task","taskId":"c/1"}"#);
    // One that is called like that by itself is no other's.
    assert_eq!(learned(&tasks, &one, &d, r#"{"taskId":"b/1"}"#), r#"{"taskId":"d/b/1"}"#);
    assert_eq!(learned(&tasks, &other, &b, r#"{"taskId":"2"}"#), r#"{"taskId":"2"}"#);
    for (principal, shown, place, own) in [
        (&one, "1", &a, "1"),
        (&one, "b/1", &b, "1"),
        (&one, "c/1", &c, "1"),
        (&one, "d/b/1", &d, "b/1"),
        (&other, "2", &b, "2"),
    ] {
        assert_eq!(tasks.find(principal, shown), Some(key(place, own)), "{shown}");
        let mut status = status(own, "working");
        assert_eq!(tasks.hear(place, &mut status).as_ref(), Some(principal));
        assert_eq!(status.text("taskId").as_deref(), Some(shown));
    }
    let mut list = Response::new(RawJson::parse(r#"{"tasks":[{"taskId":"1"},{"taskId":"2"}]}"#).unwrap());
    tasks.keep_own(&b, &one, &mut list).unwrap();
    assert_eq!(list.result.as_bytes(), br#"{"tasks":[{"taskId":"b/1"}]}"#);
}

#[test]
fn the_oldest_task_is_forgotten_when_there_are_too_many() {
    let (tasks, caller, a) = (TaskTable::default(), Principal::new("one"), remote("a"));
    for number in 0..=MAX_TASKS {
        learned(&tasks, &caller, &a, &format!(r#"{{"taskId":"{number}"}}"#));
    }
    assert_eq!(tasks.find(&caller, "0"), None);
    assert!(tasks.find(&caller, "1").is_some());
}

#[test]
fn the_caller_with_the_most_tasks_loses_one_that_has_ended_or_else_the_oldest() {
    let (tasks, a) = (TaskTable::default(), remote("a"));
    let (one, other) = (Principal::new("one"), Principal::new("other"));
    let begin = |owner: &Principal, id: &str| learned(&tasks, owner, &a, &format!(r#"{{"taskId":"{id}"}}"#));
    begin(&one, "first");
    for number in 1..MAX_TASKS {
        begin(&other, &number.to_string());
    }
    tasks.hear(&a, &mut status("7", "completed"));
    tasks.end(&key(&a, "9"));
    // A task that goes on again has not ended.
    begin(&other, "9");
    for id in ["new", "newer"] {
        begin(&other, id);
    }
    let is_known = |owner, id| tasks.find(owner, id).is_some();
    assert!(is_known(&one, "first"), "nobody loses a task to another one who has more");
    assert!(!is_known(&other, "7") && !is_known(&other, "1"));
    assert!(["2", "9", "new", "newer"].into_iter().all(|id| is_known(&other, id)));
}

#[test]
fn a_program_takes_its_tasks_with_it_and_a_server_that_goes_on_keeps_them() {
    let (tasks, caller) = (TaskTable::default(), Principal::new("one"));
    let (program, lasting) = (place("a", r#"{"command":"x"}"#), remote("b"));
    assert!(program.is_of_program() && !lasting.is_of_program());
    for place in [&program, &lasting] {
        learned(&tasks, &caller, place, r#"{"taskId":"1"}"#);
    }
    tasks.end_of_program(&program);
    assert!(!tasks.has_unfinished(&program) && tasks.has_unfinished(&lasting));
    assert_eq!(tasks.find(&caller, "1"), None);
    // The next program may give the id to somebody else.
    let other = Principal::new("other");
    learned(&tasks, &other, &program, r#"{"taskId":"1"}"#);
    assert_eq!(tasks.find(&other, "1"), Some(key(&program, "1")));
    // A server at another address knows nothing of them.
    assert_ne!(place("b", r#"{"url":"http://127.0.0.1:10/mcp"}"#), lasting);
    tasks.end_of_server(&"b".into());
    assert_eq!(tasks.find(&caller, "b/1"), None);
}

#[tokio::test(start_paused = true)]
async fn progress_is_told_until_the_task_has_ended_or_a_day_is_over_and_keeps_no_session() {
    let (tasks, owner, a) = (TaskTable::default(), Principal::new("one"), remote("a"));
    let session = Arc::new(Session::new(Revision::V2025_11_25));
    for number in 1..=3 {
        let begun = format!(r#"{{"taskId":"{number}"}}"#);
        let token = RawJson::from_value("token").unwrap();
        let progress = TaskProgress { number, session: Arc::downgrade(&session), token };
        let mut response = Response::new(RawJson::parse(begun).unwrap());
        tasks.learn(&a, &owner, &mut response, || Some(progress));
    }
    for mut going_on in [status("1", "working"), status("1", "input_required"), status("4", "failed")] {
        tasks.hear(&a, &mut going_on);
    }
    let (to, token) = tasks.reported(&a, 1).unwrap();
    assert!(Arc::ptr_eq(&to, &session) && token.as_bytes() == br#""token""#);
    assert!(tasks.reported(&remote("b"), 1).is_none(), "the number is another server's");
    tasks.hear(&a, &mut status("1", "cancelled"));
    assert!(tasks.reported(&a, 1).is_none() && tasks.reported(&a, 2).is_some());
    tasks.end(&key(&a, "2"));
    assert!(tasks.reported(&a, 2).is_none() && tasks.has_unfinished(&a));
    drop((to, session));
    assert!(tasks.reported(&a, 3).is_none());
    tokio::time::advance(LONGEST).await;
    assert!(!tasks.has_unfinished(&a));
}
