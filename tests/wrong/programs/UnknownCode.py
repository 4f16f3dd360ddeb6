from pypto.errors.explain import explanation

explanation("F99999")
