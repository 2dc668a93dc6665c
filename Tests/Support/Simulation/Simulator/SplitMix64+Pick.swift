import AttoATT

extension SplitMix64 {
  /// One of these, each as often as its number says.
  mutating func pick<Choice>(_ choices: KeyValuePairs<Choice, Int>) -> Choice {
    var number = below(choices.reduce(0) { $0 + $1.value })
    for (choice, weight) in choices {
      if number < weight { return choice }
      number -= weight
    }
    preconditionFailure("there is nothing to choose from")
  }
}
