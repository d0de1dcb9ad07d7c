//! Reports in files: by the ending while a debate runs, and the same bytes afterwards.

use crate::rebut::{Rebut, case, recommends, script, script_of, split_then_c};

#[test]
fn a_report_is_the_same_while_it_runs_and_afterwards() {
    let rebut = Rebut::new();
    rebut.user_config("");
    rebut.write("debate.md", &script_of(&split_then_c()));
    rebut.expect(0, &case(&["-q", "-o", "report.html", "-o", "river.svg"]));
    let id = rebut.json(0, &["ls", "--json"])[0]["id"].as_str().expect("an id").to_owned();
    rebut.expect(0, &["export", &id, "again.html"]);
    rebut.expect(0, &["export", &id, "-o", "again.svg"]);
    assert_eq!(rebut.read("report.html"), rebut.read("again.html"));
    assert_eq!(rebut.read("river.svg"), rebut.read("again.svg"));
    assert_eq!(rebut.expect(0, &["export", &id, "-f", "html"]), rebut.read("report.html"));
    let html = rebut.read("report.html");
    for words in ["✓ RECOMMENDED", "C Limited offline, 2 of 3", "effort·1·#1", "Content-Security-Policy"] {
        assert!(html.contains(words), "{words}");
    }
    assert!(rebut.read("river.svg").starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""));
    assert_eq!(rebut.run(&["export", &id, "a.html", "-o", "b.html"]).code, 2, "one file, not two");
    let unknown = rebut.run(&["export", &id, "report.pdf"]);
    assert!(unknown.code == 2 && unknown.stderr.contains(".html"), "{}", unknown.stderr);
}

#[test]
fn what_has_no_positions_has_no_drawing_and_a_rehearsal_is_loud() {
    let rebut = Rebut::new();
    rebut.user_config("");
    rebut.write("one.md", &script(&[("triage/neutral", r#"{"worth_a_debate":true,"reason":"yes","confidence":0.8}"#)]));
    rebut.expect(0, &["triage", "Redis or Memcached?", "-m", "script:one.md"]);
    let nothing = rebut.run(&["export", "last", "chart.svg"]);
    assert!(nothing.code == 2 && nothing.stderr.contains("nothing to draw"), "{}", nothing.stderr);
    rebut.expect(0, &["export", "last", "report.html"]);
    assert!(rebut.read("report.html").contains("worth a debate: yes"));
    assert!(!rebut.read("report.html").contains("REHEARSAL"));
    rebut.write("debate.md", &script(&[("recommend/*", recommends("A").as_str())]));
    rebut.expect(0, &case(&["-q", "-m", "risk=rehearsal", "-o", "mixed.html", "--exit-zero", "--rounds", "1"]));
    assert!(rebut.read("mixed.html").contains("class=\"loud\""), "one of them is enough");
}
