/// Something on its way from one thread to another.
///
/// `@unchecked Sendable`: what is carried is either an object of this module, whose state is
/// constant or ``Guarded``, or a closure over such objects that is run once, by the one to whom
/// it is carried.
struct Carried<Content>: @unchecked Sendable {
  let content: Content
  init(_ content: Content) { self.content = content }
}
