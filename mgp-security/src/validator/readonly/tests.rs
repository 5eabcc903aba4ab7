use proptest::prelude::*;

use super::*;
use crate::doubles::cases;

// covers: MGP-4.5-02
#[test]
fn only_methods_that_read_pass() {
    for method in ["GET", "HEAD", "OPTIONS", "get"] {
        assert_eq!(check_http_method(method), Ok(()), "{method}");
    }
    for method in ["POST", "PUT", "PATCH", "DELETE", "CONNECT", "TRACE", "", " GET", "GET\r\n", "ＧＥＴ"] {
        assert!(check_http_method(method).is_err(), "{method:?}");
    }
}

// covers: MGP-4.5-02
#[test]
fn the_first_verb_of_a_name_decides() {
    for name in [
        "get_updates", "list_deleted_items", "readWritten", "read-file", "search", "issue_read",
        "pull_request_read", "repo.list_commits", "getHTTPResponse", "HTTPGetStatus", "is_locked",
        "can_delete_user", "find_and_count", "email_search",
    ] {
        assert_eq!(check_tool_name(name, None), Ok(()), "{name}");
    }
    for name in [
        "create_issue", "deleteUser", "delete-item", "UpdateRecord", "write_file", "send_email",
        "email_send", "issue_write", "run_command", "execute_sql", "git_push", "merge_branch",
        "merge_pull_request", "move_file", "get_or_create_user", "search_and_replace", "read_then_delete",
        "check_out", "HTTPPost", "ｄｅｌｅｔｅ_item", "set2fa", "weather", "", "удалить",
    ] {
        assert!(check_tool_name(name, None).is_err(), "{name}");
    }
}

#[test]
fn a_server_may_refuse_its_tool_and_vouch_only_for_a_name_that_says_nothing() {
    let said = |read_only, destructive| {
        let mut annotations = ToolAnnotations::default();
        annotations.read_only_hint = read_only;
        annotations.destructive_hint = destructive;
        annotations
    };
    assert_eq!(check_tool_name("weather", Some(&said(Some(true), None))), Ok(()));
    assert!(check_tool_name("weather", Some(&said(None, None))).is_err());
    assert!(check_tool_name("delete_item", Some(&said(Some(true), None))).is_err());
    assert!(check_tool_name("get_item", Some(&said(Some(false), None))).is_err());
    assert!(check_tool_name("get_item", Some(&said(None, Some(true)))).is_err());
    assert_eq!(check_tool_name("get_item", Some(&said(Some(true), Some(true)))), Ok(()));
}

// covers: MGP-4.5-02
#[test]
fn every_row_of_the_table_reads_or_is_refused() {
    let wrong = cases(include_str!("commands.txt"));
    let wrong = wrong.filter(|(verdict, line)| check_line_reads(line, None).is_ok() != (*verdict == "reads"));
    assert_eq!(wrong.collect::<Vec<_>>(), []);
    assert!(check_line_reads("", None).is_err());
}

#[test]
fn long_names_cost_no_stack() {
    assert!(check_tool_name(&"get".repeat(100_000), None).is_err());
}

proptest! {
    #[test]
    fn no_command_or_name_panics(
        words in prop::collection::vec("(-{0,2}[a-zA-Z=]{0,4}|git|curl|sed|find|sort|.{0,8}|[s/;wep{}!,0-9]{0,12})", 0..5),
        name in ".*",
    ) {
        let _ = check_line_reads(&words.join(" "), None);
        let _ = check_tool_name(&name, None);
        let _ = check_http_method(&name);
    }
}
