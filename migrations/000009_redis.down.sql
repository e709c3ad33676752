CREATE OR REPLACE FUNCTION delivery_assignment_changed() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    runtime CONSTANT text[] := '{failures,next_try,last_error,refusal_lasts,changed_at,txid}';
BEGIN
    IF to_jsonb(NEW) - runtime IS DISTINCT FROM to_jsonb(OLD) - runtime THEN
        NEW.txid := pg_current_xact_id();
        NEW.changed_at := clock_timestamp();
    END IF;
    IF (NEW.transport, NEW.host, NEW.port, NEW.folder, NEW.name_template, NEW.url_scheme, NEW.url_path)
       IS DISTINCT FROM (OLD.transport, OLD.host, OLD.port, OLD.folder, OLD.name_template, OLD.url_scheme, OLD.url_path) THEN
        NEW.render := greatest(NEW.render, OLD.render + 1);
    END IF;
    RETURN NEW;
END $$;

ALTER TABLE delivery_assignment DROP COLUMN database_number;
