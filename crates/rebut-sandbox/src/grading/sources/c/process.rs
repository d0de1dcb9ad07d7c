//! What in tests of C and C++ says that the code must be in their process: they look at the process
//! itself, or at memory that both have.

use super::{
    super::tokens::{Token, arguments, has_computed_format},
    surface::{Function, Way, is_keyword},
    types::Type,
};
use std::collections::BTreeSet;

/// Words of tests that look at or prepare the process itself: its files, its random numbers, its
/// time, its memory, its threads.
const TOGETHER: &str = "errno freopen fopen fdopen tmpfile tmpnam mkstemp open creat dup dup2 pipe \
    fork setenv putenv unsetenv chdir srand srand48 \
    access stat lstat unlink mkdir rmdir opendir system popen getenv srandom setlocale \
    open_memstream \
    fmemopen setvbuf rdbuf ofstream ifstream fstream filesystem fesetround feenableexcept \
    fetestexcept \
    malloc_hook __malloc_hook __free_hook mallinfo mallinfo2 malloc_stats malloc_info \
    malloc_usable_size mtrace mcheck sbrk alarm signal \
    sigaction clock getrusage times getcpuclockid CLOCK_PROCESS_CPUTIME_ID CLOCK_THREAD_CPUTIME_ID \
    setrlimit pthread_create thrd_create \
    thread jthread async";

/// Functions that write or read memory as a format says, and which argument that is.
const FORMATS: &[(&str, usize)] = &[
    ("printf", 0),
    ("fprintf", 1),
    ("dprintf", 1),
    ("sprintf", 1),
    ("asprintf", 1),
    ("snprintf", 2),
    ("vprintf", 0),
    ("vfprintf", 1),
    ("vsprintf", 1),
    ("vsnprintf", 2),
    ("vasprintf", 1),
    ("wprintf", 0),
    ("fwprintf", 1),
    ("swprintf", 2),
    ("scanf", 0),
    ("fscanf", 1),
    ("sscanf", 1),
    ("vsscanf", 1),
    ("swscanf", 1),
    ("vformat", 0),
    ("vformat_to", 1),
];

/// Whether the tests look at the process, or make functions for all of it, or have a format that
/// the code may say: it could take what is expected out of the arguments.
pub(super) fn is_looked_at(tests: &[Token<'_>], defined: &BTreeSet<String>) -> bool {
    let allocates =
        |two: &[Token<'_>]| two[0].text == "operator" && matches!(two[1].text, "new" | "delete");
    tests
        .iter()
        .any(|word| TOGETHER.split_whitespace().any(|other| other == word.text))
        || tests.windows(2).any(allocates)
        || has_computed_format(tests, FORMATS)
        || ["malloc", "calloc", "realloc", "free"]
            .iter()
            .any(|name| defined.contains(*name))
}

/// Whether tests and code may have the same memory in a way that is lost between two processes.
pub(super) fn is_memory_shared(
    function: &Function,
    tests: &[Token<'_>],
    code: &[Token<'_>],
) -> bool {
    let leads = |ty: &Type| matches!(ty, Type::Pointer { .. } | Type::Reference { .. });
    let places: Vec<usize> = (0..function.given.len())
        .filter(|at| leads(&function.given[*at].ty))
        .collect();
    let changes = function.given.iter().any(|given| given.comes_back());
    let calls = || calls(tests, &function.name);
    let meets = |given: &Vec<&[Token<'_>]>| {
        let names: Vec<BTreeSet<&str>> = places
            .iter()
            .filter_map(|at| given.get(*at))
            .map(|words| names(words))
            .collect();
        names
            .iter()
            .enumerate()
            .any(|(at, one)| names[at + 1..].iter().any(|other| !one.is_disjoint(other)))
    };
    let is_row = |at: &usize| match function.given[*at].way {
        Way::Room => true,
        Way::Many(_) => function.must_see(&function.given[*at]),
        _ => false,
    };
    let rows: Vec<usize> = places.iter().copied().filter(is_row).collect();
    let is_part = |given: &Vec<&[Token<'_>]>| {
        rows.iter()
            .filter_map(|at| given.get(*at))
            .any(|words| is_part_of_table(words))
    };
    places.len() > 1 && changes && calls().iter().any(meets)
        || !rows.is_empty() && (has_parts(tests) || calls().iter().any(is_part))
        || matches!(function.result, Type::Pointer { .. }) && has_buffer(code)
}

/// The words of each argument of each call of that name.
fn calls<'a>(tests: &'a [Token<'a>], name: &str) -> Vec<Vec<&'a [Token<'a>]>> {
    let begins = |at: &usize| {
        tests[*at].text == name && tests.get(at + 1).is_some_and(|next| next.text == "(")
    };
    (0..tests.len())
        .filter(begins)
        .map(|at| arguments(&tests[at + 2..]))
        .collect()
}

/// Names of things among the words of an argument.
fn names<'a>(words: &[Token<'a>]) -> BTreeSet<&'a str> {
    let is_name = |name: &str| {
        name.starts_with(|c: char| c.is_alphabetic() || c == '_')
            && !is_keyword(name)
            && name != "NULL"
    };
    words
        .iter()
        .map(|word| word.text)
        .filter(|name| is_name(name))
        .collect()
}

/// `t[0]` and `*row` as a row of its own.
fn is_part_of_table(words: &[Token<'_>]) -> bool {
    let (first, last) = (
        words.first().map_or("", |word| word.text),
        words.last().map_or("", |word| word.text),
    );
    first == "*" || last == "]" && first != "&"
}

/// Whether the tests have rows within rows, or pointers into the midst of one: what they expect may
/// stand in the same memory.
fn has_parts(tests: &[Token<'_>]) -> bool {
    let text = |at: usize| tests.get(at).map_or("", |word| word.text);
    let is_end = |word: &str| matches!(word, ";" | "," | "=" | ")");
    let pointers: BTreeSet<&str> = (1..tests.len())
        .filter(|at| text(at - 1) == "*" && is_end(text(at + 1)))
        .map(text)
        .collect();
    let leads_within = |at: usize| {
        matches!(text(at + 2), "+" | "-") && !text(at + 1).starts_with(|c: char| c.is_ascii_digit())
    };
    let is_table = |at: usize| text(at) == "]" && text(at + 1) == "[";
    let is_derived = |at: usize| {
        text(at) == "="
            && pointers.contains(text(at - 1))
            && (leads_within(at) || text(at + 1) == "&" && text(at + 3) == "[")
    };
    (1..tests.len()).any(|at| is_table(at) || is_derived(at))
}

/// Whether the code has room for texts that outlives a call: two results may be one.
fn has_buffer(code: &[Token<'_>]) -> bool {
    let mut depth = 0_usize;
    for (at, word) in code.iter().enumerate() {
        let look = |by: usize| code.get(at + by).map_or("", |word| word.text);
        let before = |by: usize| at.checked_sub(by).map_or("", |at| code[at].text);
        match word.text {
            "{" => depth += 1,
            "}" => depth = depth.saturating_sub(1),
            "char"
                if look(2) == "["
                    && before(1) != "const"
                    && before(1) != "("
                    && before(1) != "," =>
            {
                let is_static = (1..4).any(|by| before(by) == "static");
                if depth == 0 || is_static {
                    return true;
                }
            }
            _ => {}
        }
    }
    false
}
