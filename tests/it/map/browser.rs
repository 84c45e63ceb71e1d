//! The page of `gatehouse map` in a light and a dark browser: text fits its box and does not overlap, and no script
//! runs.

use std::{fs, path::Path, process::Command};

use serde_json::Value;

use super::worked;
use crate::support::{Place, installed};

/// Names that are long, wide, or try to inject HTML.
const PRESETS: &str = r#"
[gates.kg]
grants = ["knowledge"]
[gates.fetch.http]
"a-host-with-a-name-that-is-much-longer-than-any-box-would-like.example.com" = { headers = { Authorization = "Bearer ${WEATHER_TOKEN}" } }
"WWW.example.org" = {}
[gates.proxy]
grants = ["servers", "models"]
[servers.tickets]
command = "<script>document.title='broken'</script>"
env = { TICKET_KEY = "${TICKET_KEY}" }
[presets."数据和一个很长很长的名字，它不适合任何盒子，因为它太长了"]
gates.kg = {}
[presets.all]
description = "\"><img src=x onerror=alert(1)>"
gates.kg = {}
gates.fetch = {}
gates.proxy = {}
"#;

/// Script that measures the layout; appended to a copy of the page without its content policy.
const RULER: &str = r"<script>
const maps = [...document.querySelectorAll('svg')].map(svg => {
  const page = svg.getBoundingClientRect();
  const texts = [...svg.querySelectorAll('text')].map(text => {
    const at = text.getBoundingClientRect(), box = text.closest('g')?.querySelector('rect');
    const edge = box ? box.getBoundingClientRect().right : page.right;
    return {words: text.textContent, left: at.left - page.left, top: at.top - page.top,
            right: at.right - page.left, bottom: at.bottom - page.top, edge: edge - page.left};
  });
  return {width: page.width, height: page.height, texts};
});
const style = getComputedStyle(document.body);
const output = document.createElement('pre');
output.id = 'measures';
output.textContent = JSON.stringify({maps, title: document.title, back: style.backgroundColor, text: style.color});
document.body.append(output);
</script></body>";

fn shown(browser: &Path, page: &Path, home: &Path, more: &[&str]) -> String {
    let mut command = Command::new(browser);
    command.args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--dump-dom"]);
    let ran = command.args(more).arg(page).env("HOME", home).output().expect("a browser");
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8(ran.stdout).expect("UTF-8")
}

fn measured(document: &str) -> Value {
    let text = document.split_once("<pre id=\"measures\">").and_then(|(_, rest)| rest.split_once("</pre>"));
    let text = text.expect("the ruler's words").0;
    let plain = text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
    serde_json::from_str(&plain).expect("JSON")
}

fn luminance(colour: &Value) -> f64 {
    let text = colour.as_str().expect("a colour");
    let numbers = text.trim_start_matches("rgb(").trim_end_matches(')').split(", ");
    let linear = |part: &str| {
        let part = part.parse::<f64>().expect("a number") / 255.0;
        if part <= 0.040_45 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
    };
    numbers.map(linear).zip([0.2126, 0.7152, 0.0722]).map(|(part, weight)| part * weight).sum()
}

#[test]
fn a_browser_shows_every_word_in_its_box() {
    let Some(browser) = installed("GATEHOUSE_TEST_BROWSER") else { return };
    let place = Place::with(PRESETS, &["kg", "fetch", "proxy", "echo"]);
    place.sample_wiki();
    place.write(
        "wiki/heuristics/Alone.md",
        "# Heuristic: Alone\n\n== Overview ==\nNobody links here.\n\n== Related Pages ==\n* [[related::Principle:<b>Gone]]\n",
    );
    worked(&place.run(&["kg", "index", "wiki"]));
    worked(&place.run(&["map", "--html", "map.html", "--wiki"]));
    let page = fs::read_to_string(place.path("map.html")).expect("a page");

    let document = shown(&browser, &place.path("map.html"), &place.path(""), &[]);
    assert!(document.contains("<title>Gatehouse: presets and their access</title>"));
    assert!(!document.contains("<img") && !document.contains("<script"));

    let policy =
        page.split_once("<meta http-equiv=").expect("a policy").1.split_once('>').expect("its end").0;
    let open = page.replace(&format!("<meta http-equiv={policy}>"), "").replace("</body>", RULER);
    let copy = place.write("measured.html", open);
    for scheme in [&[][..], &["--force-dark-mode"]] {
        let measures = measured(&shown(&browser, &copy, &place.path(""), scheme));
        assert_eq!(measures["title"], "Gatehouse: presets and their access");
        let (back, text) = (luminance(&measures["back"]), luminance(&measures["text"]));
        let contrast = (back.max(text) + 0.05) / (back.min(text) + 0.05);
        assert!(contrast >= 7.0 && (back < text) != scheme.is_empty(), "{contrast}");
        let maps = measures["maps"].as_array().expect("maps");
        assert_eq!(maps.len(), 2);
        for map in maps {
            no_word_is_out_of_place(map);
        }
    }
}

fn no_word_is_out_of_place(map: &Value) {
    let number = |of: &Value, key: &str| of[key].as_f64().expect("a number");
    let texts = map["texts"].as_array().expect("texts");
    assert!(texts.len() > 10, "{map}");
    for (place, one) in texts.iter().enumerate() {
        assert!(number(one, "right") <= number(one, "edge"), "it leaves its box: {one}");
        let inside = number(one, "left") >= 0.0
            && number(one, "top") >= 0.0
            && number(one, "right") <= number(map, "width")
            && number(one, "bottom") <= number(map, "height");
        assert!(inside, "it leaves the picture: {one}");
        for other in &texts[place + 1..] {
            let apart = number(one, "right") <= number(other, "left")
                || number(other, "right") <= number(one, "left")
                || number(one, "bottom") <= number(other, "top")
                || number(other, "bottom") <= number(one, "top");
            assert!(apart, "{one} lies on {other}");
        }
    }
}
