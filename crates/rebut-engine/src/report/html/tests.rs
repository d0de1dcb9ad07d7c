//! The look keeps its promises: contrast, hashes, and marks that can be told apart.

use super::*;
use std::collections::{BTreeMap, BTreeSet};

/// Every colour of a style sheet by name: for a light and for a dark ground.
fn colours(style: &str) -> BTreeMap<String, [[f64; 3]; 2]> {
    let found = style.split("--").skip(1).filter_map(|rest| {
        let (name, rest) = rest.split_once(": light-dark(")?;
        let (light, dark) = rest.split_once(')')?.0.split_once(", ")?;
        Some((name.to_owned(), [rgb(light), rgb(dark)]))
    });
    found.collect()
}

fn rgb(hex: &str) -> [f64; 3] {
    let part = |at: usize| {
        f64::from(u8::from_str_radix(&hex[at..at + 2], 16).expect("two digits")) / 255.0
    };
    [part(1), part(3), part(5)]
}

fn contrast(one: [f64; 3], other: [f64; 3]) -> f64 {
    let linear = |part: f64| {
        if part <= 0.04045 {
            part / 12.92
        } else {
            ((part + 0.055) / 1.055).powf(2.4)
        }
    };
    let light =
        |[r, g, b]: [f64; 3]| 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b) + 0.05;
    let (one, other) = (light(one), light(other));
    one.max(other) / one.min(other)
}

#[test]
fn every_text_and_every_mark_stands_out_from_its_ground() {
    let (page, chart) = (colours(PAGE_STYLE), colours(CHART_STYLE));
    let texts: &[(&str, &[&str])] = &[
        (
            "ink",
            &["paper", "panel", "good-bg", "attention-bg", "bad-bg"],
        ),
        ("faint", &["paper", "panel"]),
        ("link", &["paper", "panel"]),
        ("good", &["good-bg", "paper"]),
        ("attention", &["attention-bg", "paper"]),
        ("bad", &["bad-bg", "paper"]),
    ];
    let marks: Vec<String> = (0..6)
        .map(|hue| format!("hue{hue}"))
        .chain(["ink".to_owned(), "faint".to_owned()])
        .collect();
    let drawn = marks
        .iter()
        .map(|mark| (mark.as_str(), ["paper", "lane", "won"].as_slice()));
    let rows = texts
        .iter()
        .map(|(text, grounds)| (&page, *text, *grounds))
        .chain(drawn.map(|(mark, grounds)| (&chart, mark, grounds)));
    for (colours, text, grounds) in rows {
        for ground in grounds {
            for (scheme, (over, under)) in ["light", "dark"]
                .iter()
                .zip(colours[text].iter().zip(&colours[*ground]))
            {
                let found = contrast(*over, *under);
                assert!(found >= 4.5, "{text} on {ground} ({scheme}): {found:.2}");
            }
        }
    }
}

#[test]
fn a_style_is_known_by_the_hash_that_browsers_compute() {
    // Of the empty text, as everybody knows it.
    assert_eq!(
        style_source(""),
        "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="
    );
    assert!(
        !PAGE_STYLE.contains("</") && !CHART_STYLE.contains("</"),
        "nothing in it ends it early"
    );
}

#[test]
fn a_drawing_that_stands_alone_has_plain_colours() {
    let plain = plain_style(CHART_STYLE);
    assert!(
        !["var(", "light-dark(", "--", "[class"]
            .iter()
            .any(|word| plain.contains(word)),
        "{plain}"
    );
    for rule in [
        "text { fill: #1b1f29; font-size: 13px; }",
        ".line.hue3 { stroke: #9c3f7c; }",
        ".hollow.hue0 { fill: #ffffff; stroke: #0069a5; }",
    ] {
        assert!(plain.contains(rule), "{rule} is not in\n{plain}");
    }
}

#[test]
fn no_two_of_the_first_24_look_alike() {
    let drawn = |place: usize| {
        let (look, mut svg) = (Look::of(place), Markup::default());
        look.mark(&mut svg, (0.0, 0.0), 1.0, "");
        format!("{} {}", svg.finish(), look.hue)
    };
    assert_eq!((0..24).map(drawn).collect::<BTreeSet<_>>().len(), 24);
    let without_hue = |place: usize| drawn(place).replace(Look::of(place).hue, "");
    assert_eq!(
        (0..8).map(without_hue).collect::<BTreeSet<_>>().len(),
        8,
        "the first eight differ without any colour"
    );
    assert_eq!(
        (0..8)
            .map(|place| Look::of(place).dash)
            .collect::<BTreeSet<_>>()
            .len(),
        8,
        "and so do their lines"
    );
}

#[test]
fn markdown_of_models_is_shown_and_never_obeyed() {
    let rows = [
        ("<script>alert(1)</script>", "&lt;script&gt;", "<script"),
        (
            "a <img src=x onerror=alert(1)> b",
            "&lt;img src=x onerror=alert(1)&gt;",
            "<img",
        ),
        (
            "![alt](https://evil.example/x.png)",
            "[picture: alt]",
            "evil.example",
        ),
        ("[x](javascript:alert(1))", "x", "javascript"),
        ("[x](JaVaScRiPt&#58;alert(1))", "x", "href"),
        ("[x](data:text/html,hello)", "x", "href"),
        ("[x](file:///etc/passwd)", "x", "href"),
        ("[x](//evil.example)", "x", "href"),
        (
            "[x](https://example.org/a?b=\"c\")",
            "rel=\"noreferrer noopener\">x</a>",
            "\"c\"",
        ),
        (
            "[x](#river)",
            "<a href=\"#river\" rel=\"noreferrer noopener\">x</a>",
            "<p></p>",
        ),
        (
            "| a | b |\n|---|--:|\n| 1 | 2 |",
            "<th scope=\"col\" class=\"number\">b</th>",
            "<style",
        ),
        (
            "```html\n</code></pre><script>\n```",
            "&lt;/code&gt;&lt;/pre&gt;&lt;script&gt;",
            "<script",
        ),
        ("# One\n\n<div onclick=x>", "<h3>One</h3>", "<div"),
        (
            "1. a\n2. b\n\n- [x] done\n\n~~no~~ *e* **s**\n\n---\n> q",
            "☑ ",
            "<input",
        ),
    ];
    for (said, shown, never) in rows {
        let mut page = Markup::default();
        prose::write(&mut page, said);
        let html = page.finish();
        assert!(html.contains(shown), "{said}: {html}");
        assert!(!html.contains(never), "{said}: {html}");
    }
}
