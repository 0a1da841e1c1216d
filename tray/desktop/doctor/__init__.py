"""What `sessionbell doctor` looks at: one module a check, each of facts and of what they mean."""
