-- Names, words and n-grams are now indexed by their key: without compatibility forms, diacritics and invisible
-- characters.
DELETE FROM page_name;
INSERT OR IGNORE INTO page_name SELECT name_key(title), number FROM page;
INSERT OR IGNORE INTO page_name SELECT name_key(id), number FROM page;
INSERT OR IGNORE INTO page_name SELECT name_key(substr(id, instr(id, '/') + 1)), number FROM page;

DELETE FROM page_text;
INSERT INTO page_text (rowid, title, overview, domains, content)
    SELECT number, with_variants(title), with_variants(overview), separated(domains), separated(content)
    FROM page JOIN page_body ON page_body.page = page.number;

DELETE FROM page_grams;
INSERT INTO page_grams (rowid, title, overview, domains, content)
    SELECT number, grams(title), grams(overview), grams(domains), grams(content)
    FROM page JOIN page_body ON page_body.page = page.number
    WHERE grams(title || overview || domains || content) <> '';

-- Ids and titles are compared with composed characters.
UPDATE OR IGNORE page SET key = id_key(key), title_key = id_key(title_key);
UPDATE OR IGNORE domain SET key = id_key(key);
UPDATE link SET target_key = id_key(target_key);
