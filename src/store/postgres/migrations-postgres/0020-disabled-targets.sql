-- Targets that an operator has disabled: a provider's model, whichever catalog models it serves. Apart from the models, so that it
-- outlives the next configuration file.
-- serves: 18
CREATE TABLE disabled_target (
  provider_id TEXT NOT NULL,
  model TEXT NOT NULL,
  actor TEXT NOT NULL,
  disabled_at BIGINT NOT NULL,
  PRIMARY KEY (provider_id, model)
);
