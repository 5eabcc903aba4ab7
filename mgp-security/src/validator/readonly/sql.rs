//! The check that SQL text only reads.

use sqlparser::ast::{Query, SetExpr, Statement};
use sqlparser::dialect::{
    BigQueryDialect, Dialect, DuckDbDialect, GenericDialect, MsSqlDialect, MySqlDialect, OracleDialect,
    PostgreSqlDialect, SQLiteDialect,
};
use sqlparser::keywords::Keyword;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Token, Tokenizer, Whitespace, Word};

use crate::Finding;

use super::{function, writes};

/// Checks that each statement of `text` is a query, or shows or explains something, and has no side effect.
///
/// The database that will read the text is not known, so the text is read in several dialects. At least one of them has
/// to understand it, and none may see a write in it. A quotation mark that ends a string in one dialect but not in
/// another therefore hides nothing.
pub(crate) fn check_sql(text: &str) -> Result<(), Finding> {
    if text.len() > MAX_BYTES {
        return Err(unreadable());
    }
    // MySQL runs the content of such a comment.
    if text.contains("/*!") || text.contains("/*M!") {
        return Err(writes("a comment contains a statement: write it as one, or leave it out"));
    }
    // The parser needs much stack for each level of nesting, and a stack overflow would end the process. The caller may
    // have little stack left, so text that may be nested deeply is read on a thread with its own stack.
    let brackets = text.bytes().filter(|byte| matches!(byte, b'(' | b'[' | b'{')).count();
    if brackets <= SHALLOW && text.len() <= SHORT_BYTES {
        match decide(text, SHALLOW) {
            Err(finding) if finding.rule == UNREADABLE => {}
            decided => return decided,
        }
    }
    std::thread::scope(|scope| {
        let reader = std::thread::Builder::new()
            .stack_size(STACK_BYTES)
            .spawn_scoped(scope, || decide(text, MAX_DEPTH));
        reader
            .map_or_else(|_| Err(unreadable()), |reader| reader.join().unwrap_or_else(|_| Err(unreadable())))
    })
}

fn decide(text: &str, max_depth: usize) -> Result<(), Finding> {
    let dialects: [&dyn Dialect; 8] = [
        &GenericDialect {},
        &PostgreSqlDialect {},
        &MySqlDialect {},
        &SQLiteDialect {},
        &MsSqlDialect {},
        &DuckDbDialect {},
        &OracleDialect {},
        &BigQueryDialect {},
    ];
    let mut understood = false;
    for dialect in dialects {
        let Ok(tokens) = Tokenizer::new(dialect, text).tokenize() else { continue };
        let tokens: Vec<Token> = tokens.into_iter().filter(|token| !is_space(token)).collect();
        check_tokens(&tokens)?;
        // The parsed statements differ between dialects only where the tokens or the grammar do, so parsing once is
        // enough.
        if understood {
            continue;
        }
        if let Some(reads) = pragma_reads(&tokens) {
            return if reads {
                Ok(())
            } else {
                Err(writes("only pragmas that tell something may be sent here"))
            };
        }
        let parsed =
            Parser::new(dialect).with_recursion_limit(max_depth).with_tokens(tokens).parse_statements();
        if let Ok(statements) = parsed {
            if statements.is_empty() || !statements.iter().all(reads) {
                return Err(writes("only queries may be sent here: use SELECT, SHOW or EXPLAIN"));
            }
            understood = true;
            if is_plain(text) {
                break;
            }
        }
    }
    if understood { Ok(()) } else { Err(unreadable()) }
}

/// Returns whether all dialects read the same tokens: the text contains nothing that only some of them take for a
/// quotation mark, an escape, a comment or a placeholder.
fn is_plain(text: &str) -> bool {
    let same = |byte: u8| {
        byte.is_ascii_alphanumeric() || byte.is_ascii_whitespace() || b"_.,()=<>*+/%';-".contains(&byte)
    };
    text.bytes().all(same) && !text.contains("--") && !text.contains("/*")
}

fn unreadable() -> Finding {
    Finding::new(UNREADABLE, "the SQL cannot be read, so nothing is known of it: send one simple query")
}

fn is_space(token: &Token) -> bool {
    matches!(
        token,
        Token::Whitespace(
            Whitespace::Space
                | Whitespace::Newline
                | Whitespace::Tab
                | Whitespace::SingleLineComment { .. }
                | Whitespace::MultiLineComment(_)
        )
    )
}

/// Returns whether the outer form of the statement only reads. Writes that are nested in it are found in the tokens.
fn reads(statement: &Statement) -> bool {
    match statement {
        Statement::Query(query) => query_reads(query),
        Statement::Explain { statement, .. } => reads(statement),
        Statement::ExplainTable { .. }
        | Statement::ShowFunctions { .. }
        | Statement::ShowVariable { .. }
        | Statement::ShowStatus { .. }
        | Statement::ShowVariables { .. }
        | Statement::ShowCreate { .. }
        | Statement::ShowColumns { .. }
        | Statement::ShowCatalogs { .. }
        | Statement::ShowDatabases { .. }
        | Statement::ShowProcessList { .. }
        | Statement::ShowSchemas { .. }
        | Statement::ShowCharset(_)
        | Statement::ShowObjects(_)
        | Statement::ShowTables { .. }
        | Statement::ShowViews { .. }
        | Statement::ShowCollation { .. } => true,
        _ => false,
    }
}

/// Returns whether a pragma, which must stand alone, only reports something; `None` if the statement is not a pragma.
/// The parser cannot read pragmas with a name in parentheses.
fn pragma_reads(tokens: &[Token]) -> Option<bool> {
    let words = tokens.strip_suffix(&[Token::SemiColon]).unwrap_or(tokens);
    let [Token::Word(first), rest @ ..] = words else { return None };
    if !first.value.eq_ignore_ascii_case("PRAGMA") {
        return None;
    }
    let rest = if let [Token::Word(_), Token::Period, rest @ ..] = rest { rest } else { rest };
    let [Token::Word(name), argument @ ..] = rest else { return Some(false) };
    let name = name.value.to_ascii_lowercase();
    Some(match argument {
        [] => READING_PRAGMAS.contains(&&*name) || SETTING_PRAGMAS.contains(&&*name),
        [Token::LParen, _, Token::RParen] => READING_PRAGMAS.contains(&&*name),
        _ => false,
    })
}

fn query_reads(query: &Query) -> bool {
    query.locks.is_empty() && query.settings.is_none() && body_reads(&query.body)
}

fn body_reads(body: &SetExpr) -> bool {
    match body {
        SetExpr::Select(select) => select.into.is_none(),
        SetExpr::Query(query) => query_reads(query),
        SetExpr::SetOperation { left, right, .. } => body_reads(left) && body_reads(right),
        SetExpr::Values(_) | SetExpr::Table(_) => true,
        SetExpr::Insert(_) | SetExpr::Update(_) | SetExpr::Delete(_) | SetExpr::Merge(_) => false,
    }
}

/// Refuses writes in any position: in subqueries, after common table expressions, after a query without a separating
/// semicolon, and in the effects of functions.
fn check_tokens(tokens: &[Token]) -> Result<(), Finding> {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate() {
        match token {
            Token::LParen => depth += 1,
            Token::RParen => depth = depth.saturating_sub(1),
            Token::Assignment => return Err(writes("the query sets a variable: leave the assignment out")),
            // In dialects without dollar quoting, the text between the dollar signs is run.
            Token::DollarQuotedString(_) => {
                return Err(writes("the query has dollar quotes: use single ones"));
            }
            Token::Word(word) => check_word(word, &tokens[..at], &tokens[at + 1..])?,
            _ => {}
        }
        if depth > MAX_DEPTH {
            return Err(unreadable());
        }
    }
    Ok(())
}

fn check_word(word: &Word, before: &[Token], after: &[Token]) -> Result<(), Finding> {
    if after.first() == Some(&Token::LParen) && !(function::reads(&word.value) && packages_read(before)) {
        return Err(writes(format!("the function {} does more than read: leave it out", word.value)));
    }
    let is_part = before.last() == Some(&Token::Period);
    // In Oracle, reading `nextval` of a sequence advances it.
    if is_part && word.value.eq_ignore_ascii_case("nextval") {
        return Err(writes("the query changes a sequence: leave it out"));
    }
    if is_part || word.quote_style.is_some() {
        return Ok(());
    }
    let name = word.value.to_ascii_uppercase();
    let next = after.first().map(keyword).unwrap_or_default();
    let refused = match &*name {
        "INTO" => true,
        "FOR" => matches!(&*next, "UPDATE" | "SHARE" | "NO" | "KEY"),
        "LOCK" => next == "IN",
        "NEXT" => next == "VALUE" && after.get(1).map(keyword).as_deref() == Some("FOR"),
        // Without a semicolon before it, some databases read this as a name and others as the next statement.
        single if SINGLE.contains(&single) => before.last().is_some_and(ends_expression),
        strong if WRITING.contains(&strong) => {
            !next.is_empty() && !goes_on(&next, strong) && !is_named(before)
        }
        weak if ACTING.contains(&weak) => !next.is_empty() && !goes_on(&next, weak) && !is_named(before),
        _ => false,
    };
    if refused { Err(writes(format!("{name} does more than read here: send a plain query"))) } else { Ok(()) }
}

fn ends_expression(token: &Token) -> bool {
    match token {
        Token::Word(word) => word.quote_style.is_some() || word.keyword == Keyword::NoKeyword,
        Token::Number(..) | Token::SingleQuotedString(_) | Token::RParen | Token::RBracket | Token::Mul => {
            true
        }
        _ => false,
    }
}

/// Returns whether none of the packages that qualify a function does more than read.
fn packages_read(mut before: &[Token]) -> bool {
    while let [rest @ .., Token::Word(package), Token::Period] = before {
        if function::is_of_family(&package.value) {
            return false;
        }
        before = rest;
    }
    true
}

/// Returns whether the word after `before` is an alias, or follows a `SHOW` that begins a statement.
fn is_named(before: &[Token]) -> bool {
    match before.split_last() {
        Some((last, earlier)) => match &*keyword(last) {
            "AS" => true,
            "SHOW" => matches!(earlier.last(), None | Some(Token::SemiColon)),
            _ => false,
        },
        None => false,
    }
}

/// Returns the token as a word in upper case; `*` for a quoted name, a string, `@` or `[`, and an empty text for every
/// other token.
fn keyword(token: &Token) -> String {
    match token {
        Token::Word(word) if word.quote_style.is_none() => word.value.to_ascii_uppercase(),
        Token::Word(_)
        | Token::AtSign
        | Token::SingleQuotedString(_)
        | Token::DoubleQuotedString(_)
        | Token::NationalStringLiteral(_)
        | Token::LBracket => "*".to_owned(),
        _ => String::new(),
    }
}

/// Returns whether `next` continues an expression after a column with the name `name`.
fn goes_on(next: &str, name: &str) -> bool {
    // `DELETE FROM` is a statement in every position; a column of that name has to be quoted.
    (next == "FROM" && !matches!(name, "DELETE" | "MERGE")) || CONTINUING.contains(&next)
}

/// The largest length of SQL text in bytes: longer than people write, and short enough to read several times.
const MAX_BYTES: usize = 64 * 1024;

const UNREADABLE: &str = "unreadable-sql";

/// The largest depth of nesting that is read on the stack of the caller.
const SHALLOW: usize = 10;

/// The largest length in bytes that is read on the stack of the caller. A chain of operators is parsed into a tree as
/// deep as the chain is long, and the tree is dropped recursively.
const SHORT_BYTES: usize = 4 * 1024;

/// The size of the separate stack in bytes: four times what the parser needs for the deepest query in an unoptimized
/// build. It is reserved, but only used as far as the query needs it.
const STACK_BYTES: usize = 32 * 1024 * 1024;

/// The largest depth to which queries and expressions may nest. The parser tries several readings of a parenthesis,
/// each of which may try several of the next one.
const MAX_DEPTH: usize = 40;

/// The words that begin a statement that writes.
const WRITING: [&str; 13] = [
    "INSERT", "UPDATE", "DELETE", "MERGE", "DROP", "ALTER", "CREATE", "TRUNCATE", "GRANT", "REVOKE", "EXEC",
    "EXECUTE", "ATTACH",
];

/// The words that begin a statement that acts, but that are common names of columns as well.
const ACTING: [&str; 11] =
    ["REPLACE", "CALL", "COPY", "LOAD", "DO", "BACKUP", "RESTORE", "KILL", "BULK", "DBCC", "WAITFOR"];

/// The words that are a complete statement.
const SINGLE: [&str; 6] = ["SHUTDOWN", "RECONFIGURE", "CHECKPOINT", "COMMIT", "ROLLBACK", "REVERT"];

/// The words that continue an expression.
const CONTINUING: [&str; 34] = [
    "IS", "IN", "LIKE", "ILIKE", "BETWEEN", "AS", "DESC", "ASC", "AND", "OR", "NOT", "WHERE", "GROUP",
    "ORDER", "HAVING", "LIMIT", "OFFSET", "FETCH", "THEN", "ELSE", "END", "WHEN", "JOIN", "INNER", "LEFT",
    "RIGHT", "FULL", "CROSS", "ON", "USING", "UNION", "EXCEPT", "INTERSECT", "COLLATE",
];

/// The pragmas of SQLite that answer a question, with or without an argument.
const READING_PRAGMAS: [&str; 14] = [
    "table_info", "table_xinfo", "table_list", "index_info", "index_list", "index_xinfo", "foreign_key_list",
    "foreign_key_check", "database_list", "collation_list", "function_list", "module_list",
    "compile_options", "integrity_check",
];

/// The pragmas of SQLite that report a setting, and change it if they are given a value.
const SETTING_PRAGMAS: [&str; 13] = [
    "application_id", "auto_vacuum", "busy_timeout", "cache_size", "encoding", "foreign_keys",
    "freelist_count", "journal_mode", "page_count", "page_size", "schema_version", "synchronous",
    "user_version",
];
