DROP TABLE IF EXISTS feed_dependency, feed_version, feed_document, feed_dirty, feed_definition;
