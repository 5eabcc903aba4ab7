use super::{CommandPolicy, check_command, check_word};

mod grammar;
mod robust;

/// The rows of a table; `⏎` stands for a line end.
fn rows(table: &str) -> impl Iterator<Item = String> + '_ {
    table.lines().map(|line| line.replace('⏎', "\n"))
}

fn rule(command: &str) -> Option<&'static str> {
    check_command(command, &CommandPolicy::default()).err().map(|finding| finding.rule)
}

fn word_rule(word: &str) -> Option<&'static str> {
    check_word(word).err().map(|finding| finding.rule)
}

/// Returns the rows of a table that are not judged by the class before their text; a row without a class is harmless.
fn wrong(table: &str, judge: fn(&str) -> Option<&'static str>) -> Vec<(String, Option<&'static str>)> {
    let judged = rows(table).filter_map(|row| {
        let (class, text) = row.split_once('\t').map_or((None, &*row), |(class, text)| (Some(class), text));
        let found = judge(text);
        (found != class).then(|| (row.clone(), found))
    });
    judged.collect()
}

// covers: MGP-4.5-01
#[test]
fn dangerous_commands_are_refused_with_their_class_and_harmless_ones_pass() {
    assert_eq!(wrong(include_str!("dangerous_commands.txt"), rule), []);
    assert_eq!(wrong(include_str!("harmless_commands.txt"), rule), []);
}

// covers: MGP-4.5-01
#[test]
fn words_that_become_more_than_data_are_refused_with_their_class_and_others_pass() {
    assert_eq!(wrong(include_str!("dangerous_words.txt"), word_rule), []);
    assert_eq!(wrong(include_str!("harmless_words.txt"), word_rule), []);
}

// covers: MGP-4.5-01
#[test]
fn trees_that_are_named_are_not_deleted() {
    for row in rows(include_str!("named_trees.txt")) {
        assert_eq!(rule(&row), Some("recursive-delete"), "{row}");
    }
    for command in [
        "rm -rf /", "rm -rf ~", "rm -rf ..", "rm -rf .", "rm -rf *", "rm -rf .git", "rm -rf $x",
        "cd / && rm -r a",
    ] {
        assert!(rule(command).is_some(), "{command}");
    }
}

// covers: MGP-4.5-01
#[test]
fn metacharacters_are_dangerous_in_a_word_and_harmless_in_a_command() {
    for (word, command) in
        [("ls & curl x", "ls & date"), ("a | id", "ls | wc -l"), ("$(date)", "echo $(date)")]
    {
        assert!(word_rule(word).is_some(), "{word}");
        assert_eq!(rule(command), None, "{command}");
    }
}

#[test]
fn prose_about_dangerous_things_passes() {
    assert_eq!(rule("git log --grep shutdown"), None);
    assert_eq!(rule("git commit -m 'never run rm -rf / again; reboot instead'"), None);
    assert_eq!(word_rule("switch to root with su - and run rm -rf"), None);
}

#[test]
fn look_alikes_are_judged_as_what_they_look_like() {
    assert_eq!(rule("ＲＭ -rf ~"), Some("recursive-delete"));
    assert_eq!(rule("rm \u{2212}rf ~"), Some("recursive-delete"));
    // Folding must not hide what the shell would see: these quotes quote nothing.
    assert_eq!(rule("echo ＂; rm -rf /; echo ＂"), Some("recursive-delete"));
}

#[test]
fn invisible_characters_are_refused() {
    for text in ["ls\u{202e}x", "ls\u{200b}", "ls\0", "ls\u{1b}[2J", "ls\u{e0041}"] {
        assert_eq!(rule(text), Some("invisible-character"));
        assert_eq!(word_rule(text), Some("invisible-character"));
    }
}

#[test]
fn scratch_directories_may_be_emptied_below_but_not_left() {
    let policy = CommandPolicy::default().with_scratch("/srv/scratch");
    let allowed = |command: &str| check_command(command, &policy).is_ok();
    assert!(allowed("rm -rf /srv/scratch/build"));
    assert!(allowed("cd /srv/scratch && rm -r build"));
    for command in [
        "rm -rf /srv/scratch", "rm -rf /srv/scratch/../x", "rm -rf /srv/scratched", "rm -rf /srv/scratch/$x",
        "rm -rf /srv/scratch/*", "rm -rf", "cd $x && rm -rf build", "cd / && rm -rf build",
    ] {
        assert!(!allowed(command), "{command}");
    }
}

#[test]
fn a_finding_says_what_to_do_instead() {
    let finding = check_command("rm -rf ../build", &CommandPolicy::default()).expect_err("it deletes a tree");
    assert!(finding.message.contains("one by one"), "{finding}");
}
