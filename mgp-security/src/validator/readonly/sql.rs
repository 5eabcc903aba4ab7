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

/// Decides on SQL: each statement must be a query, or show or explain something, and have no effect besides.
///
/// Which database will read the text is not known, so it is read as each of several would. One of them has to
/// understand it, and none may see a write in it: a quotation mark that ends a string for one and not for
/// another hides nothing.
pub(crate) fn check_sql(text: &str) -> Result<(), Finding> {
    if text.len() > MAX_BYTES {
        return Err(unreadable());
    }
    // MySQL runs what stands in such a comment.
    if text.contains("/*!") || text.contains("/*M!") {
        return Err(writes("a comment contains a statement: write it as one, or leave it out"));
    }
    // The parser takes a lot of stack for each level, and to run out of it would end the process. The caller may
    // have little left, so what is not plainly shallow is read on a stack of its own.
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
        // The statements differ between dialects only where the tokens or the grammar do; once is enough.
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

/// Whether every dialect finds the same tokens in the text: it holds nothing that only some of them take for a quotation
/// mark, an escape, a comment or a placeholder.
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

/// Whether the statement, as far as its own shape tells, only reads. What is nested in it shows in the tokens.
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

/// Whether a pragma, which is sent alone, only tells something; `None` if the statement is none. The parser does not
/// know those with a name in parentheses.
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

/// Refuses writes wherever they stand: in subqueries, behind common tables, after a query without a semicolon
/// between, and in what functions do.
fn check_tokens(tokens: &[Token]) -> Result<(), Finding> {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate() {
        match token {
            Token::LParen => depth += 1,
            Token::RParen => depth = depth.saturating_sub(1),
            Token::Assignment => return Err(writes("the query sets a variable: leave the assignment out")),
            // Where dollar signs are no quotation marks, what stands between them is run.
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
    // Oracle's sequences count on when asked for the next value.
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
        // Without a semicolon before it, this is a name to some and the next statement to others.
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

/// Whether the packages that a function is qualified with are none of those that do more than read.
fn packages_read(mut before: &[Token]) -> bool {
    while let [rest @ .., Token::Word(package), Token::Period] = before {
        if function::is_of_family(&package.value) {
            return false;
        }
        before = rest;
    }
    true
}

/// Whether the word behind is an alias, or what a statement shows the definition of.
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

/// The token as a word in capitals; `*` for a name or value that is no plain word, and nothing for an operator.
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

/// Whether an expression goes on behind a column of that name.
fn goes_on(next: &str, name: &str) -> bool {
    // `DELETE FROM` is a statement wherever it stands; a column of that name has to be quoted.
    (next == "FROM" && !matches!(name, "DELETE" | "MERGE")) || CONTINUING.contains(&next)
}

/// Longer than what anyone would write, and short enough to read several times.
const MAX_BYTES: usize = 64 * 1024;

const UNREADABLE: &str = "unreadable-sql";

/// A depth that fits on any stack.
const SHALLOW: usize = 10;

/// A chain of operators is a tree as deep as it is long, and taken down level by level.
const SHORT_BYTES: usize = 4 * 1024;

/// Four times what the parser takes for the deepest query in a build without optimisations. It is reserved, and used
/// only as far as the query needs it.
const STACK_BYTES: usize = 32 * 1024 * 1024;

/// How deep queries and expressions may nest. The parser tries several readings of a parenthesis, each of which
/// may try several of the next one.
const MAX_DEPTH: usize = 40;

/// Words that begin a statement that writes.
const WRITING: [&str; 13] = [
    "INSERT", "UPDATE", "DELETE", "MERGE", "DROP", "ALTER", "CREATE", "TRUNCATE", "GRANT", "REVOKE", "EXEC",
    "EXECUTE", "ATTACH",
];

/// Words that begin a statement that acts, and are common names of columns, too.
const ACTING: [&str; 11] =
    ["REPLACE", "CALL", "COPY", "LOAD", "DO", "BACKUP", "RESTORE", "KILL", "BULK", "DBCC", "WAITFOR"];

/// Words that are a whole statement.
const SINGLE: [&str; 6] = ["SHUTDOWN", "RECONFIGURE", "CHECKPOINT", "COMMIT", "ROLLBACK", "REVERT"];

/// Words that go on with an expression.
const CONTINUING: [&str; 34] = [
    "IS",
    "IN",
    "LIKE",
    "ILIKE",
    "BETWEEN",
    "AS",
    "DESC",
    "ASC",
    "AND",
    "OR",
    "NOT",
    "WHERE",
    "GROUP",
    "ORDER",
    "HAVING",
    "LIMIT",
    "OFFSET",
    "FETCH",
    "THEN",
    "ELSE",
    "END",
    "WHEN",
    "JOIN",
    "INNER",
    "LEFT",
    "RIGHT",
    "FULL",
    "CROSS",
    "ON",
    "USING",
    "UNION",
    "EXCEPT",
    "INTERSECT",
    "COLLATE",
];

/// Pragmas of SQLite that answer a question, which may have an argument.
const READING_PRAGMAS: [&str; 14] = [
    "table_info",
    "table_xinfo",
    "table_list",
    "index_info",
    "index_list",
    "index_xinfo",
    "foreign_key_list",
    "foreign_key_check",
    "database_list",
    "collation_list",
    "function_list",
    "module_list",
    "compile_options",
    "integrity_check",
];

/// Pragmas of SQLite that tell a setting unless they are given one.
const SETTING_PRAGMAS: [&str; 13] = [
    "application_id",
    "auto_vacuum",
    "busy_timeout",
    "cache_size",
    "encoding",
    "foreign_keys",
    "freelist_count",
    "journal_mode",
    "page_count",
    "page_size",
    "schema_version",
    "synchronous",
    "user_version",
];
