use std::fs;

use crate::home::Home;

#[test]
fn rows_are_judged_one_by_one() {
    let home = Home::new();
    let rows = "{\"id\":\"1\",\"kind\":\"shell_command\",\"input\":\"ls -l\"}\n{\"id\":\"2\",\"input\":\"rm -rf ~\"}\n";
    let ran = home.run_with(["check", "--kind", "shell_command"], rows);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let lines: Vec<_> = ran.out.lines().collect();
    assert_eq!(lines[0], r#"{"id":"1","verdict":"allow"}"#);
    assert!(lines[1].starts_with(r#"{"id":"2","verdict":"deny","reason":""#), "{}", lines[1]);
    assert_eq!(home.run_with(["check", "--kind", "path"], "nonsense\n").code, Some(1));
    let unknown = home.run(["check", "--kind", "shell"]);
    assert!(unknown.code == Some(1) && unknown.err.contains("shell_command"), "{unknown:?}");
}

#[test]
fn queries_of_a_file_are_ranked_without_a_kernel() {
    let home = Home::new();
    let tools = [
        r#"{"id":"t1","server":"fs","name":"read_file","description":"Read the contents of a file."}"#,
        r#"{"id":"t2","server":"mail","name":"send_mail","description":"Send an email to somebody."}"#,
    ];
    fs::write(home.path("tools.jsonl"), tools.join("\n")).unwrap();
    fs::write(home.path("queries.jsonl"), "{\"id\":\"q\",\"text\":\"send an email\"}\n").unwrap();
    let ran = home.done(["search", "--tools", "tools.jsonl", "--queries", "queries.jsonl", "--top", "1"]);
    let line: Vec<_> = ran.out.trim_end().split('\t').collect();
    assert_eq!((line[0], line[1]), ("q", "t2"));
    assert!(line[2].parse::<f64>().unwrap() > 0.0);
    let fit = home.json(["search", "--tools", "tools.jsonl", "--queries", "queries.jsonl", "--top", "1"]);
    assert_eq!((fit["query"].as_str(), fit["tool"].as_str()), (Some("q"), Some("t2")), "{fit}");
    let gone = home.run(["search", "--tools", "none.jsonl", "--queries", "queries.jsonl"]);
    assert!(gone.code == Some(1) && gone.err.contains("none.jsonl"), "{gone:?}");
}
