use mgp_types::mcp::ToolAnnotations;
use proptest::prelude::*;

use super::*;
use crate::validator::sandbox::check_command_reads;

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

fn command(line: &str) -> Result<(), Finding> {
    // Words are parted by spaces; `_` stands for a space inside of one.
    let words: Vec<String> = line.split(' ').map(|word| word.replace('_', " ")).collect();
    check_command_reads(&words.iter().map(String::as_str).collect::<Vec<_>>())
}

// covers: MGP-4.5-02
#[test]
fn programs_that_read_pass() {
    for line in [
        "ls -la /tmp",
        "/bin/cat a b",
        "/usr/bin/grep -rn main src",
        "head -n 5 a",
        "git status",
        "git log --oneline -n 5 -- src",
        "git -C dir --no-pager diff --stat HEAD~1",
        "git show HEAD:src/main.rs",
        "git branch -a",
        "git tag -l v1.*",
        "git remote -v",
        "git stash list",
        "git config --get user.name",
        "git diff --output-indicator-new=+",
        "find . -name *.rs -type f -mtime -7 -maxdepth 3 -print0",
        "find . ( -name a -o -name b ) -not -empty",
        "sed -n 1,20p file",
        "sed -n /begin/,/end/p file",
        "sed -E s/a(.)/\\1/g;s|b|c|2 file",
        "sed -e 5q file",
        "sed $!d file",
        "sed -n /a/{p;d} file",
        "sed :a;N;$!ba;s/x/y/ file",
        "sort -k2,2n -t: -u file",
        "uniq -c file",
        "tree -L 2 -a",
        "date -u +%Y",
        "rg --pretty needle src",
        "curl -sSL https://example.com/",
        "curl -I -H accept:_text/html --max-time 5 example.com",
        "curl -X GET -o - https://example.com/",
        "curl -w %{http_code} -o /dev/null -s https://example.com/",
        "hostname",
        "jq .a file.json",
    ] {
        assert_eq!(command(line), Ok(()), "{line}");
    }
}

// covers: MGP-4.5-02
#[test]
fn what_writes_or_starts_something_is_refused() {
    for line in [
        "rm a",
        "./ls",
        "/tmp/ls",
        "bash -c ls",
        "sudo ls",
        "env ls",
        "xargs cat",
        "tee a",
        "awk BEGIN{system(\"id\")}",
        "find . -delete",
        "find . -exec rm {} ;",
        "find . -ok rm {} ;",
        "find . -fprint a",
        "find . -fls a",
        "sed -i s/a/b/ file",
        "sed --in-place s/a/b/ file",
        "sed -ni p file",
        "sed -n w_out file",
        "sed s/a/b/w_out file",
        "sed s/a/b/e file",
        "sed 1e_id file",
        "sed -f script file",
        "sed p;w_out file",
        "sed s/[/]/w_out/;p file",
        "sed s/[/]/[/w_out file",
        "sed -n -- w_out file",
        "sed -n -e p -e w_out file",
        "sed",
        "sort -o out file",
        "sort -uoout file",
        "sort --output=out file",
        "sort --outp out file",
        "sort --compress-program=sh file",
        "uniq in out",
        "tree -o out",
        "date -s 2020-01-01",
        "date --set=2020-01-01",
        "date 01010000",
        "hostname evil",
        "rg --pre sh x",
        "file -C -m magic",
        "curl -d a=b https://example.com/",
        "curl -sd a=b https://example.com/",
        "curl --data-binary @f https://example.com/",
        "curl -F a=@b https://example.com/",
        "curl -T f https://example.com/",
        "curl -X POST https://example.com/",
        "curl -XDELETE https://example.com/",
        "curl --request PUT https://example.com/",
        "curl --req PUT https://example.com/",
        "curl -o out https://example.com/",
        "curl -O https://example.com/x",
        "curl -o=- https://example.com/",
        "curl -s:oout https://example.com/",
        "curl -K config",
        "curl -c jar https://example.com/",
        "curl -w %output{f}x https://example.com/",
        "curl gopher://example.com/_x",
        "curl smtp.example.com",
        "git",
        "git push",
        "git commit -m x",
        "git checkout .",
        "git fetch",
        "git ls-remote ext::sh",
        "git -c core.pager=sh log",
        "git --exec-path=/tmp log",
        "git -p log",
        "git --paginate log",
        "git stash -p list",
        "git log --op=sh",
        "git log --output=out",
        "git diff --outp=out",
        "git diff --ext-diff",
        "git grep -Osh x",
        "git grep --open-files-in-pager=sh x",
        "git branch new",
        "git branch -D old",
        "git tag v1",
        "git remote add x y",
        "git stash",
        "git stash pop",
        "git config user.name x",
        "git reflog expire --all",
        "git worktree add x",
    ] {
        assert!(command(line).is_err(), "{line}");
    }
    assert!(check_command_reads(&[]).is_err());
}

#[test]
fn long_scripts_and_names_cost_no_stack() {
    let braces = "{".repeat(100_000);
    assert!(check_command_reads(&["sed", &braces, "file"]).is_ok());
    assert!(check_tool_name(&"get".repeat(100_000), None).is_err());
}

proptest! {
    #[test]
    fn no_command_or_name_panics(
        words in prop::collection::vec("(-{0,2}[a-zA-Z=]{0,4}|git|curl|sed|find|sort|.{0,8}|[s/;wep{}!,0-9]{0,12})", 0..5),
        name in ".*",
    ) {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let _ = check_command_reads(&words);
        for program in ["git", "curl", "sed", "find", "sort", "date"] {
            let mut argv = vec![program];
            argv.extend(&words);
            let _ = check_command_reads(&argv);
        }
        let _ = check_tool_name(&name, None);
        let _ = check_http_method(&name);
    }
}
