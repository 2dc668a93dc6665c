import Atto

/// Says on standard error that a name goes out shortened: who looks for the whole one would not find
/// it, and would not know why.
enum ShortenedName {
  /// - Parameter command: the command's name.
  static func tell(_ data: AdvertisingData, isConnectable: Bool, _ command: String) {
    guard let name = data.localName, !data.nameIsShortened,
      let laidOut = try? LegacyAdvertisement(data, isConnectable: isConnectable),
      let short = laidOut.shortenedName
    else { return }
    Terminal.note(
      "atto \(command): the name \(Shown.name(name)) of \(name.utf8.count) octets does not fit beside"
        + " what else is advertised; it goes out as Shortened Local Name \(Shown.name(short))")
  }
}
