//! The HTML report: every case of every format renders, and nothing anybody said can do anything in
//! it.

use html5ever::{parse_document, tendril::TendrilSink};
use markup5ever_rcdom::{Handle, NodeData, RcDom};
use rebut_engine::{
    facts::{Conflict, PersonaRecorded, Ruling, ScoreAdjusted},
    memory_store::MemoryStore,
    report,
    view::View,
};
use rebut_testkit::cases::Case;
use std::{path::Path, sync::Arc};

/// An element as a browser would see it.
struct Element {
    name: String,
    attributes: Vec<(String, String)>,
    /// All text in it.
    text: String,
    /// The names of the elements right in it.
    children: Vec<String>,
    within: Vec<String>,
}

impl Element {
    fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }
}

fn parsed(html: &str) -> Vec<Element> {
    let dom = parse_document(RcDom::default(), Default::default()).one(html);
    assert_eq!(
        *dom.errors.borrow(),
        Vec::<String>::new(),
        "a browser would have to guess"
    );
    let mut found = Vec::new();
    walk(&dom.document, &mut Vec::new(), &mut found);
    found
}

fn walk(node: &Handle, within: &mut Vec<String>, found: &mut Vec<Element>) {
    let NodeData::Element { name, attrs, .. } = &node.data else {
        node.children
            .borrow()
            .iter()
            .for_each(|child| walk(child, within, found));
        return;
    };
    let named = |child: &Handle| match &child.data {
        NodeData::Element { name, .. } => Some(name.local.to_string()),
        _ => None,
    };
    found.push(Element {
        name: name.local.to_string(),
        attributes: attrs
            .borrow()
            .iter()
            .map(|attribute| {
                (
                    attribute.name.local.to_string(),
                    attribute.value.to_string(),
                )
            })
            .collect(),
        text: text_of(node),
        children: node.children.borrow().iter().filter_map(named).collect(),
        within: within.clone(),
    });
    within.push(name.local.to_string());
    node.children
        .borrow()
        .iter()
        .for_each(|child| walk(child, within, found));
    within.pop();
}

fn text_of(node: &Handle) -> String {
    match &node.data {
        NodeData::Text { contents } => contents.borrow().to_string(),
        _ => node.children.borrow().iter().map(text_of).collect(),
    }
}

/// Elements that load, run, submit or frame something.
const NEVER: &[&str] = &[
    "script",
    "iframe",
    "object",
    "embed",
    "link",
    "base",
    "form",
    "input",
    "button",
    "img",
    "image",
    "video",
    "audio",
    "source",
    "use",
    "foreignobject",
    "animate",
    "set",
    "a:href",
    "template",
    "frame",
    "portal",
];

/// What holds of every report, whatever was said.
fn check(name: &str, html: &str) {
    let elements = parsed(html);
    for element in &elements {
        assert!(
            !NEVER.contains(&element.name.to_lowercase().as_str()),
            "{name}: <{}>",
            element.name
        );
        for (key, value) in &element.attributes {
            assert!(
                !key.starts_with("on") && key != "style" && key != "src" && key != "srcset",
                "{name}: {key}={value}"
            );
            assert!(
                !value.to_lowercase().contains("javascript:") || key == "aria-label",
                "{name}: {key}={value}"
            );
        }
        if let Some(link) = element.attribute("href") {
            let within = link.starts_with('#');
            let abroad = link.starts_with("https://") || link.starts_with("http://");
            assert!(element.name == "a" && (within || abroad), "{name}: {link}");
            assert!(
                within || element.attribute("rel") == Some("noreferrer noopener"),
                "{name}: {link}"
            );
        }
    }
    let all = |wanted: &'static str| {
        elements
            .iter()
            .filter(move |element| element.name == wanted)
    };
    assert_eq!(
        (all("style").count(), all("h1").count(), all("main").count()),
        (1, 1, 1),
        "{name}"
    );
    for table in all("table") {
        assert!(
            table.children.contains(&"thead".to_owned()),
            "{name}: a table without headings: {}",
            table.text
        );
    }
    assert!(
        all("th").all(|head| head.attribute("scope").is_some()),
        "{name}"
    );
    for svg in all("svg") {
        assert!(
            svg.children.first().is_some_and(|first| first == "title"),
            "{name}: a drawing without a title"
        );
        assert_eq!(svg.attribute("role"), Some("img"), "{name}");
    }
    let ids: Vec<&str> = elements
        .iter()
        .filter_map(|element| element.attribute("id"))
        .collect();
    let mut unique = ids.clone();
    unique.sort_unstable();
    unique.dedup();
    assert_eq!(unique.len(), ids.len(), "{name}: an id twice: {ids:?}");
    for link in all("a")
        .filter_map(|link| link.attribute("href")?.strip_prefix('#'))
        .filter(|link| !link.starts_with("said-"))
    {
        assert!(ids.contains(&link), "{name}: #{link} leads nowhere");
    }
    for label in elements
        .iter()
        .filter_map(|element| element.attribute("aria-labelledby"))
    {
        assert!(
            label.split(' ').all(|id| ids.contains(&id)),
            "{name}: {label}"
        );
    }
    check_policy(name, &elements);
}

/// The policy allows exactly the one style sheet of the page.
fn check_policy(name: &str, elements: &[Element]) {
    let style = elements
        .iter()
        .find(|element| element.name == "style")
        .expect("a style sheet");
    let hash = rebut_engine::record::Hash::of(style.text.as_bytes());
    let meta = elements
        .iter()
        .find(|element| element.attribute("http-equiv") == Some("Content-Security-Policy"))
        .expect("a policy");
    let policy = meta.attribute("content").expect("its text");
    let source = policy
        .split("sha256-")
        .nth(1)
        .and_then(|rest| rest.split('\'').next())
        .expect("a hash");
    assert_eq!(base64_of(&hash.0), source, "{name}");
    assert!(
        policy.starts_with("default-src 'none'; style-src 'sha256-") && !policy.contains("unsafe"),
        "{name}: {policy}"
    );
    assert_eq!(
        meta.within.last().map(String::as_str),
        Some("head"),
        "{name}: only there it counts"
    );
}

/// By its definition: six bits a letter.
fn base64_of(bytes: &[u8]) -> String {
    let letters = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let bits: String = bytes.iter().map(|byte| format!("{byte:08b}")).collect();
    let six = |at: usize| format!("{:0<6}", &bits[at..bits.len().min(at + 6)]);
    let coded: String = (0..bits.len())
        .step_by(6)
        .map(|at| char::from(letters[usize::from_str_radix(&six(at), 2).expect("bits")]))
        .collect();
    format!("{coded}{}", "=".repeat((3 - bytes.len() % 3) % 3))
}

async fn viewed(case: &Case) -> View {
    let (store, model) = (Arc::new(MemoryStore::new()), case.model());
    let desk = case.desk(store, model);
    let (id, _) = desk
        .run(case.start.clone())
        .await
        .unwrap_or_else(|error| panic!("{}: {error}", case.name));
    desk.view(id).await.expect("a view")
}

fn cases() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases")
}

#[tokio::test(start_paused = true)]
async fn every_case_of_every_format_renders_and_shows_its_outcome() {
    for case in Case::all(&cases()) {
        let view = viewed(&case).await;
        let html = report::html(&view);
        check(&case.name, &html);
        assert_eq!(
            report::html(&view),
            html,
            "{}: equal journals, equal bytes",
            case.name
        );
        let outcome = view.outcome.as_ref().expect("an outcome");
        let elements = parsed(&html);
        let card = elements
            .iter()
            .find(|element| element.attribute("id") == Some("verdict"))
            .expect("a card");
        assert!(
            card.text
                .contains(&rebut_engine::clean::on_one_line(&outcome.summary)),
            "{}: {}",
            case.name,
            card.text
        );
        for gone in &outcome.degraded {
            assert!(
                card.text
                    .contains(&format!("Missing: {} at {}", gone.agent, gone.turn)),
                "{}: {}",
                case.name,
                card.text
            );
        }
        let headings = |words: &str| {
            elements
                .iter()
                .filter(|one| ["h2", "h3"].contains(&one.name.as_str()) && one.text.trim() == words)
                .count()
        };
        assert_eq!(
            (headings("Panel"), headings("Scores")),
            (1, 0),
            "{}: nothing stands twice",
            case.name
        );
        let totals = outcome
            .result
            .get("totals")
            .and_then(|totals| totals["post"].as_f64());
        let sum = elements
            .iter()
            .find(|one| one.name == "tfoot")
            .map(|one| one.text.split_whitespace().collect::<Vec<_>>().join(" "));
        assert_eq!(
            totals.is_some(),
            sum.is_some_and(|sum| sum.starts_with("Total ")),
            "{}: a real table of scores",
            case.name
        );
        if let Ok(svg) = report::chart(&view) {
            assert!(
                !svg.contains("var(") && !svg.contains("light-dark("),
                "{}: what slide programs cannot read\n{svg}",
                case.name
            );
            roxmltree::Document::parse(&svg)
                .unwrap_or_else(|error| panic!("{}: {error}\n{svg}", case.name));
        }
        let half = View::of(&[]);
        assert!(report::html(&half).contains("nothing to report") && report::chart(&half).is_err());
    }
}

#[tokio::test(start_paused = true)]
async fn a_change_of_mind_is_drawn_with_the_claim_that_caused_it() {
    let view = viewed(&Case::read(&cases().join("decide/convinced-in-round-2"))).await;
    let elements = parsed(&report::html(&view));
    let river = elements.iter().find(|element| {
        element.name == "svg"
            && element.attribute("aria-labelledby") == Some("river-title river-desc")
    });
    let river = river.expect("a river");
    let moved = "risk, round 2: A → C, because of effort·1·#1 “A read-only cache cannot conflict”.";
    let titles: Vec<&str> = elements
        .iter()
        .filter(|element| element.name == "title")
        .map(|element| element.text.as_str())
        .collect();
    assert!(titles.contains(&moved), "{titles:?}");
    assert!(
        river.text.contains("agreement 0.67, reached 0.67"),
        "{}",
        river.text
    );
    let twin = elements
        .iter()
        .find(|element| element.name == "table" && element.text.contains("What each agent held"))
        .expect("a twin");
    assert!(
        twin.text.contains("A (0.80)") && twin.text.contains("C (0.66)"),
        "{}",
        twin.text
    );
    let card = elements
        .iter()
        .find(|element| element.attribute("id") == Some("verdict"))
        .expect("a card");
    for words in [
        "✓ RECOMMENDED",
        "C Limited offline, 2 of 3",
        "Who disagrees",
        "value holds B (0.70): The night shift needs it.",
    ] {
        assert!(card.text.contains(words), "{words}: {}", card.text);
    }
    let svg = report::chart(&view).expect("a river");
    assert!(
        svg.contains("◆1") && svg.contains("<style>") && svg.contains("A read-only cache"),
        "alone it tells the same"
    );
}

/// Everything anybody could write, in every place where somebody writes.
const HOSTILE: &str = "\"><script>alert(1)</script><img src=x \
    onerror=alert(1)></style></title></svg>]]><style>*{display:none}</style>\
    ' onload='x <a href=\"javascript:alert(1)\">x</a> [l](javascript:alert(1)) \
    ![i](https://evil.example/i.png) \u{202e}\u{0}&lt;b&gt;";

#[tokio::test(start_paused = true)]
async fn whatever_anybody_says_comes_out_inert() {
    for case in Case::all(&cases()) {
        let mut view = viewed(&case).await;
        poison(&mut view);
        let html = report::html(&view);
        check(&case.name, &html);
        assert!(
            html.contains("&lt;script&gt;alert(1)&lt;/script&gt;"),
            "{}: it is shown",
            case.name
        );
        let svg = report::chart(&view).expect("there are scores at least");
        let drawing = roxmltree::Document::parse(&svg)
            .unwrap_or_else(|error| panic!("{}: {error}", case.name));
        for node in drawing.descendants().filter(|node| node.is_element()) {
            let known = [
                "svg", "style", "title", "desc", "rect", "line", "path", "text",
            ];
            assert!(
                known.contains(&node.tag_name().name()),
                "{}: <{}>",
                case.name,
                node.tag_name().name()
            );
            assert!(node.attributes().all(
                |attribute| !attribute.name().starts_with("on") && attribute.name() != "style"
            ));
        }
        assert_eq!(
            drawing
                .descendants()
                .filter(|node| node.has_tag_name(("http://www.w3.org/2000/svg", "style")))
                .count(),
            1
        );
    }
}

fn poison(view: &mut View) {
    let hostile = || HOSTILE.to_owned();
    if let Some(started) = &mut view.started {
        let started = Arc::make_mut(started);
        (started.topic, started.initiated_by, started.engine) = (hostile(), hostile(), hostile());
        for agent in &mut started.agents {
            (agent.model, agent.stance) = (HOSTILE.into(), HOSTILE.into());
        }
    }
    for round in &mut view.rounds {
        round.phase = hostile();
        for (_, position) in &mut round.positions {
            let position = Arc::make_mut(position);
            (position.summary, position.reason, position.flips_if) =
                (hostile(), hostile(), hostile());
            position.bad_citations.push(hostile());
            position
                .claims
                .iter_mut()
                .for_each(|claim| claim.text = hostile());
            position
                .challenges
                .iter_mut()
                .for_each(|challenge| challenge.text = hostile());
        }
        round
            .absent
            .iter_mut()
            .for_each(|absence| absence.detail = hostile());
    }
    if let Some(outcome) = &mut view.outcome {
        outcome.summary = hostile();
        outcome
            .degraded
            .iter_mut()
            .for_each(|absence| absence.detail = hostile());
    }
    view.turns.iter_mut().for_each(|turn| turn.text = hostile());
    view.scores.push(Arc::new(scored(HOSTILE, 3.0, 5.0)));
    view.verdicts.push(Arc::new(ruled(HOSTILE)));
    let agents = ["a".into(), HOSTILE.into()];
    let operations = [hostile(), hostile()];
    view.conflicts.push(Conflict {
        id: hostile(),
        target: hostile(),
        description: hostile(),
        agents,
        operations,
        is_direct: true,
    });
    let persona = PersonaRecorded {
        domain: hostile(),
        title: hostile(),
        text: hostile(),
        generated: true,
    };
    view.personas.push((HOSTILE.into(), Arc::new(persona)));
}

fn scored(category: &str, before: f64, after: f64) -> ScoreAdjusted {
    let why = format!("because of {category}");
    ScoreAdjusted {
        category: category.to_owned(),
        before,
        after,
        confidence_before: 0.6,
        confidence_after: 0.7,
        why,
    }
}

fn ruled(words: &str) -> Ruling {
    Ruling {
        about: words.to_owned(),
        sides: ["advocate".to_owned(), words.to_owned()],
        winner: Some(words.to_owned()),
        reasoning: words.to_owned(),
        key_points: vec![words.to_owned()],
        confidence: 0.7,
        scores: [(words.to_owned(), 7.0)].into(),
        flipped: true,
        own_family: true,
    }
}

#[tokio::test(start_paused = true)]
async fn scores_are_drawn_from_before_to_after() {
    let mut view = viewed(&Case::read(&cases().join("triage/worth-it"))).await;
    let steps = [
        ("Problem", 6.0, 7.5),
        ("Market", 5.0, 5.25),
        ("Problem", 7.5, 4.5),
    ];
    view.scores = steps
        .iter()
        .map(|(category, before, after)| Arc::new(scored(category, *before, *after)))
        .collect();
    let html = report::html(&view);
    check("scores", &html);
    let table = parsed(&html)
        .into_iter()
        .find(|element| element.name == "table" && element.text.contains("Category"))
        .expect("a table");
    let words: Vec<&str> = table
        .text
        .split('\n')
        .filter(|word| !word.trim().is_empty())
        .collect();
    for row in [
        ["Problem", "6.0", "4.5", "−1.5"],
        ["Market", "5.0", "5.25", "+0.25"],
    ] {
        assert!(
            words.windows(4).any(|found| found == row),
            "{row:?} in {words:?}"
        );
    }
    assert!(
        report::chart(&view)
            .expect("a chart")
            .contains("Problem: 6.0 before, 4.5 after (−1.5).")
    );
}
