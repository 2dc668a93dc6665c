/// Whether a value in a message is shown.
///
/// Values without a mark are shown, as in Xcode's console. Private and sensitive values are shown as
/// `<private>`, or as a hash with that mask, unless `OS_LOG_PRIVATE=show` is set in the environment.
public struct OSLogPrivacy: Hashable, Sendable {
  /// The replacement for a hidden value.
  public enum Mask: Hashable, Sendable {
    /// A hash, the same for equal values within one run.
    case hash
    case none
  }

  private var isHidden = false
  private var mask = Mask.none

  public static var `public`: OSLogPrivacy { OSLogPrivacy() }
  public static var `private`: OSLogPrivacy { OSLogPrivacy(isHidden: true) }
  public static var sensitive: OSLogPrivacy { OSLogPrivacy(isHidden: true) }
  public static var auto: OSLogPrivacy { OSLogPrivacy() }
  public static func `private`(mask: Mask) -> OSLogPrivacy {
    OSLogPrivacy(isHidden: true, mask: mask)
  }
  public static func sensitive(mask: Mask) -> OSLogPrivacy {
    OSLogPrivacy(isHidden: true, mask: mask)
  }
  public static func auto(mask: Mask) -> OSLogPrivacy { OSLogPrivacy(mask: mask) }

  func shown(_ text: String, showsPrivate: Bool = LogLine.showsPrivate) -> String {
    guard isHidden, !showsPrivate else { return text }
    guard mask == .hash else { return "<private>" }
    let hash = UInt64(truncatingIfNeeded: text.hashValue)
    return "<mask.hash: \(String(hash, radix: 16))>"
  }
}
