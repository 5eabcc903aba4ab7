//! The levels and the rejection, whatever the language.

use mgp_types::mgp::{CodeRejection, CodeSafety, SafetyLevel};
use proptest::prelude::*;

use super::{CodePolicy, Import, Method, scan};
use crate::doubles::cases;

fn policy(level: SafetyLevel, language: &str) -> CodePolicy {
    CodePolicy::new(&CodeSafety::new(level).with_language(language))
}

fn declared(json: &str) -> CodePolicy {
    CodePolicy::new(&serde_json::from_str(json).unwrap())
}

const DECLARATION: &str = r#"{"level":"standard","language":"python","max_code_size_bytes":10000,
    "blocked_imports":["subprocess","shutil","socket","ctypes"],
    "blocked_patterns":["eval(","exec(","__import__(","os.system"],
    "allowed_imports":["asyncio","json","httpx","os","datetime","typing"]}"#;

// covers: MGP-7.2-01
#[test]
fn unrestricted_checks_nothing() {
    let code = "import subprocess; eval('1')".repeat(100_000);
    assert_eq!(scan(&code, &policy(SafetyLevel::Unrestricted, "python")).unwrap().method, Method::Unchecked);
}

// covers: MGP-7.3-05, MGP-7.3-06, MGP-7.3-08, MGP-7.4-01..06
#[test]
fn a_rejection_says_what_where_and_what_instead() {
    let code = "import json\nfrom subprocess import run\nx = eval  ('1')\n";
    let rejection = scan(code, &declared(DECLARATION)).unwrap_err();
    let json: serde_json::Value = serde_json::to_value(&rejection).unwrap();
    assert_eq!(json["status"], "rejected");
    assert_eq!(json["reason"], "Code validation failed");
    assert_eq!(
        json["violations"],
        serde_json::json!(["Blocked import: 'subprocess'", "Blocked pattern: 'eval('"])
    );
    assert_eq!(json["hints"]["max_code_size_bytes"], 10000);
    assert!(json["hints"]["allowed_imports"].as_array().unwrap().contains(&"httpx".into()));
    assert!(json["hints"]["blocked_imports"].as_array().unwrap().contains(&"shutil".into()));
    let lines: Vec<_> = rejection.locations.iter().map(|place| place.line).collect();
    assert_eq!(lines, [2, 3]);
    let read: CodeRejection = serde_json::from_value(json).unwrap();
    assert_eq!(read, rejection);
}

// covers: MGP-7.2-03, MGP-7.2-04, MGP-7.3-05
#[test]
fn long_code_is_refused_where_a_limit_is_declared_and_from_strict_on() {
    let code = "x = 1\n".repeat(20_000);
    assert!(scan(&code, &policy(SafetyLevel::Standard, "python")).is_ok());
    for level in [SafetyLevel::Strict, SafetyLevel::Readonly] {
        let rejection = scan(&code, &policy(level, "python")).unwrap_err();
        assert_eq!(
            rejection.violations,
            ["Code too large: 120000 bytes, at most 100000 are accepted".into()]
        );
    }
    let small = declared(r#"{"level":"standard","language":"python","max_code_size_bytes":10}"#);
    assert!(scan("x = 1", &small).is_ok());
    assert!(scan("x = 1 + 1 + 1", &small).is_err());
}

// covers: MGP-7.3-06, MGP-7.3-07
#[test]
fn declared_blocks_add_to_those_that_always_hold() {
    let more = declared(
        r#"{"level":"standard","language":"python","blocked_imports":["json"],"blocked_patterns":["open(","os.getcwd"]}"#,
    );
    assert!(scan("import json.decoder", &more).is_err());
    assert!(scan("open ('x')", &more).is_err());
    assert!(scan("from os import getcwd as g\ng()", &more).is_err());
    assert!(scan("import subprocess", &more).is_err());
    assert!(scan("import csv  # open( os.getcwd json", &more).is_ok());
}

// covers: MGP-7.3-08
#[test]
fn allowed_imports_replace_the_usual_ones_from_strict_on() {
    let json = r#"{"level":"LEVEL","language":"python","allowed_imports":["numpy"]}"#;
    let strict = declared(&json.replace("LEVEL", "strict"));
    assert!(scan("import numpy.linalg", &strict).is_ok());
    assert!(scan("import json", &strict).is_err());
    assert!(scan("import json", &declared(&json.replace("LEVEL", "standard"))).is_ok());
}

#[test]
fn characters_that_hide_code_are_refused() {
    let standard = policy(SafetyLevel::Standard, "python");
    for hidden in ["\u{202e}", "\u{2066}", "\u{200b}", "\0"] {
        assert!(scan(&format!("x = 'a{hidden}b'"), &standard).is_err(), "{hidden:?}");
    }
}

#[test]
fn depth_and_length_are_refused_rather_than_followed() {
    let mut deep = CodeSafety::new(SafetyLevel::Strict);
    deep.max_code_size_bytes = Some(u64::MAX);
    for language in ["python", "javascript", "typescript", "bash", "lua"] {
        let policy = CodePolicy::new(&deep.clone().with_language(language));
        assert!(scan(&"(".repeat(100_000), &policy).is_err(), "{language}");
        assert!(scan(&"x".repeat(2 * 1024 * 1024), &policy).is_err(), "{language}");
        let _ = scan(&"-".repeat(50_000), &policy);
        let _ = scan(&format!("{}x", "a.".repeat(20_000)), &policy);
        let _ = scan(&format!("{}x", "not ".repeat(20_000)), &policy);
        let _ = scan(&format!("{}'b'", "'a'+".repeat(10_000)), &policy);
        let _ = scan(&"x = x + x\n".repeat(3_000), &policy);
        let _ = scan(&format!("f({}1)", "globalThis, ".repeat(10_000)), &policy);
        let _ = scan(&format!("f({}1)", "a=1, ".repeat(10_000)), &policy);
        let _ = scan(&"# coding: x\n".repeat(10_000), &policy);
        let _ = scan(&format!("{}1", "a[x] + ".repeat(10_000)), &policy);
    }
}

#[test]
fn the_method_is_told() {
    let method = |language| scan("x", &policy(SafetyLevel::Standard, language)).unwrap().method;
    assert_eq!(method("python"), Method::SyntaxTree);
    assert_eq!(method("ruby"), Method::Patterns);
    assert_eq!(method(""), Method::Patterns);
}

#[test]
fn static_property_a_policy_can_be_shared() {
    fn shared<T: Send + Sync>(value: T) -> T {
        value
    }
    assert_eq!(shared(policy(SafetyLevel::Strict, "python")).level, SafetyLevel::Strict);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_text_is_checked_without_a_panic(code in "\\PC{0,200}", which in 0_usize..6) {
        let language = ["python", "javascript", "typescript", "bash", "go", ""][which];
        for level in [SafetyLevel::Standard, SafetyLevel::Readonly] {
            let first = scan(&code, &policy(level, language));
            prop_assert_eq!(first.is_ok(), scan(&code, &policy(level, language)).is_ok());
        }
    }

    #[test]
    fn any_mixture_of_code_is_checked_without_a_panic(
        pieces in prop::collection::vec(prop::sample::select(PIECES.to_vec()), 0..40),
        which in 0_usize..5,
    ) {
        let code = pieces.concat();
        let language = ["python", "javascript", "typescript", "bash", "php"][which];
        if let Err(rejection) = scan(&code, &policy(SafetyLevel::Readonly, language)) {
            prop_assert!(!rejection.violations.is_empty());
        }
    }
}

const PIECES: &[&str] = &[
    "import os", "from ", "x", " = ", "eval", "(", ")", "[", "]", "{", "}", "'", "\"", "`", "${", "\n",
    "    ", ".", "__class__", "'a'", "+", "%s", "%", "[::-1]", "[-1]", "*", "**", "9", "0x", "getattr", ",",
    ":", "def f", "lambda", "for y in ", "class A", "async ", "await ", "constructor", "=>", "function ",
    "return ", "\\", "\\x5f", "\\u0065", "é", "ｅ", "#", "//", "/*", "*/", ";", "|", "&", ">", "<", "$(",
    "rm", "-rf", "chr(95)", ".join(", "bytes.fromhex('6f')", "u'\\N{DASH}'", "f'{x!r:{y}}'",
];

#[test]
fn what_code_imports_is_told() {
    let imports = |language: &str, code: &str| {
        let policy = CodePolicy::new(&CodeSafety::new(SafetyLevel::Strict).with_language(language));
        scan(code, &policy.with_modules_beside(["one", "two"])).map(|scan| scan.imports)
    };
    let python = |dots, path: &str| Import::Python { dots, path: path.into() };
    assert_eq!(
        imports("python", "import one.a as b, json\nfrom two import c\nfrom . import d\nfrom ..e import f")
            .unwrap(),
        [
            python(0, "json"),
            python(0, "one.a"),
            python(0, "two"),
            python(0, "two.c"),
            python(1, ""),
            python(1, "d"),
            python(2, "e"),
            python(2, "e.f"),
        ]
    );
    let javascript =
        "import a from './a.js'; export * from './b.js'; const c = require('./c'); import('./d.mjs');";
    let found: Vec<_> =
        ["./a.js", "./b.js", "./c", "./d.mjs"].map(|path| Import::JavaScript(path.into())).into();
    assert_eq!(imports("javascript", javascript).unwrap(), found);
    assert!(imports("javascript", "import(process.argv[2])").is_err());
    assert!(imports("python", "import three_of_these").is_err());
}

// covers: MGP-7.1-01, MGP-7.2-02..04
#[test]
fn every_row_of_the_table_has_its_verdict() {
    for (verdict, code) in cases(include_str!("verdicts.txt")) {
        let mut words = verdict.split(' ');
        let (verdict, level) = (words.next().unwrap(), words.next().unwrap());
        let level: SafetyLevel = serde_json::from_value(level.into()).unwrap();
        for language in words {
            let rejection = scan(&code, &policy(level, language)).err().map(|it| it.to_string());
            let is_right = rejection.is_some() == (verdict == "refused");
            assert!(is_right, "{language}, {verdict} {level:?}: {code}: {rejection:?}");
        }
    }
}

// covers: MGP-7.2-03, MGP-7.3-08
#[test]
fn a_declared_list_holds_for_parts_of_the_own_program_too() {
    let strict = r#"{"level":"strict","language":"python","allowed_imports":["json"]}"#;
    assert!(scan("from utils.cache import Cache", &declared(strict)).is_err());
}

#[test]
fn declared_patterns_are_found_in_scripts_and_not_in_their_comments() {
    let mut declared = CodeSafety::new(SafetyLevel::Standard).with_language("bash");
    declared.blocked_patterns = ["rm -v", "| tee", "$HOME"].map(Into::into).into();
    let policy = CodePolicy::new(&declared);
    for code in ["rm   -v x", "ls |tee x", "echo \"$(rm -v x)\"", "ls $HOME"] {
        assert!(scan(code, &policy).is_err(), "accepted: {code}");
    }
    for code in ["# rm -v\nls", "ls tee"] {
        assert!(scan(code, &policy).is_ok(), "refused: {code}");
    }
}
