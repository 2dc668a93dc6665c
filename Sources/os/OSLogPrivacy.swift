/// Whether a value in a message is shown.
///
/// What is not marked is shown: standard error is the developer's, as Xcode's console is. What is
/// marked private or sensitive is shown as `<private>`, or as a hash if a mask is wished, unless
/// `OS_LOG_PRIVATE=show` is in the environment.
public struct OSLogPrivacy: Hashable, Sendable {
  /// What stands for a value that is not shown.
  public enum Mask: Hashable, Sendable {
    /// The same for the same value, within one run.
    case hash
    case none
  }

  private let isHidden: Bool
  private let mask: Mask

  private init(isHidden: Bool, mask: Mask = .none) {
    self.isHidden = isHidden
    self.mask = mask
  }

  public static var `public`: OSLogPrivacy { OSLogPrivacy(isHidden: false) }
  public static var `private`: OSLogPrivacy { OSLogPrivacy(isHidden: true) }
  public static var sensitive: OSLogPrivacy { OSLogPrivacy(isHidden: true) }
  public static var auto: OSLogPrivacy { OSLogPrivacy(isHidden: false) }
  public static func `private`(mask: Mask) -> OSLogPrivacy {
    OSLogPrivacy(isHidden: true, mask: mask)
  }
  public static func sensitive(mask: Mask) -> OSLogPrivacy {
    OSLogPrivacy(isHidden: true, mask: mask)
  }
  public static func auto(mask: Mask) -> OSLogPrivacy { OSLogPrivacy(isHidden: false, mask: mask) }

  func shown(_ text: String, showsPrivate: Bool = LogLine.showsPrivate) -> String {
    guard isHidden, !showsPrivate else { return text }
    guard mask == .hash else { return "<private>" }
    let hash = UInt64(truncatingIfNeeded: text.hashValue)
    return "<mask.hash: \(String(hash, radix: 16))>"
  }
}
